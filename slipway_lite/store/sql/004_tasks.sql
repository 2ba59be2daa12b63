-- The control plane: its own append-only logs, the projections of `task:<id>` journals, and what may be lost.

create table state_transition_events (
    seq integer primary key references ledger (seq),
    stream text not null,
    sequence integer not null check (sequence >= 1),
    at text not null,
    event_id text not null unique,
    task_id text not null,
    from_state text not null,
    to_state text not null,
    actor_type text not null check (actor_type in ('control_plane', 'worker', 'human', 'policy_engine')),
    actor_id text not null,
    occurred_at text not null,
    job_id text,
    document text not null check (json_valid(document)),
    unique (stream, sequence),
    check (from_state || ' ' || to_state in (
        'queued queued', 'queued planning', 'queued cancelled', 'queued failed',
        'planning planned', 'planning rework_required', 'planning blocked', 'planning cancelled', 'planning failed',
        'planned developing', 'planned cancelled', 'planned failed',
        'developing dev_completed', 'developing rework_required', 'developing blocked', 'developing cancelled',
        'developing failed',
        'dev_completed accepting', 'dev_completed cancelled', 'dev_completed failed',
        'accepting accepted', 'accepting rework_required', 'accepting blocked', 'accepting cancelled',
        'accepting failed',
        'rework_required developing', 'rework_required cancelled', 'rework_required failed',
        'accepted integrating', 'accepted cancelled', 'accepted failed',
        'integrating integrated', 'integrating blocked', 'integrating cancelled', 'integrating failed',
        'integrated publish_pending_approval', 'integrated publishing', 'integrated cancelled', 'integrated failed',
        'publish_pending_approval publishing', 'publish_pending_approval cancelled', 'publish_pending_approval failed',
        'publishing published', 'publishing blocked', 'publishing cancelled', 'publishing failed',
        'blocked planning', 'blocked developing', 'blocked accepting', 'blocked integrating', 'blocked publishing',
        'blocked cancelled', 'blocked failed'
    ))
) strict;

create table audit_events (
    seq integer primary key references ledger (seq),
    stream text not null,
    sequence integer not null check (sequence >= 1),
    at text not null,
    event_id text not null unique,
    event_type text not null,
    task_id text,
    run_id text,
    job_id text,
    actor_type text not null check (actor_type in ('control_plane', 'worker', 'human', 'policy_engine', 'system')),
    actor_id text not null,
    occurred_at text not null,
    payload text not null check (json_valid(payload)),
    provenance text,
    unique (stream, sequence)
) strict;

create table documents (
    seq integer primary key references ledger (seq),
    stream text not null,
    sequence integer not null check (sequence >= 1),
    at text not null,
    doc_id text not null,
    doc_type text not null,
    title text not null,
    path text,
    version text not null,
    content text not null,
    unique (stream, sequence)
) strict;
create index documents_by_id on documents (doc_id, sequence);

create table retrospectives (
    seq integer primary key references ledger (seq),
    stream text not null,
    sequence integer not null check (sequence >= 1),
    at text not null,
    retrospective_id text not null unique,
    task_id text not null,
    generation integer not null check (generation >= 1),
    generated_at text not null,
    document text not null check (json_valid(document)),
    unique (stream, sequence)
) strict;

create table tasks (
    task_id text primary key,
    state text not null check (state in (
        'queued', 'planning', 'planned', 'developing', 'dev_completed', 'accepting', 'accepted', 'rework_required',
        'integrating', 'integrated', 'publish_pending_approval', 'publishing', 'published', 'cancelled', 'failed',
        'blocked')),
    version integer not null check (version >= 0),
    risk_level text not null check (risk_level in ('low', 'medium', 'high')),
    typed_ref text not null,
    repository text not null,
    title text not null,
    objective text not null,
    active_job_id text,
    last_verdict text check (last_verdict in ('accept', 'reject', 'rework', 'needs_manual_review')),
    created_at text not null,
    updated_at text not null,
    completed_at text,
    timeout_at text,
    document text not null,
    memory text not null,
    head_seq integer not null
) strict;
create index tasks_by_update on tasks (updated_at, task_id, state);
create index tasks_by_timeout on tasks (timeout_at) where timeout_at is not null;

-- Documents that a journal event carries are not kept twice: document_seq is that event's row in the ledger.
create table worker_jobs (
    job_id text primary key,
    task_id text not null,
    stage text not null check (stage in ('plan', 'dev', 'acceptance')),
    worker_type text not null,
    execution_backend text,
    executor_instance_id text,
    status text not null check (status in ('pending', 'running', 'completed', 'failed')),
    risk_level text not null,
    retry_count integer not null,
    dispatched_at text not null,
    closed_at text,
    document_seq integer not null,
    closing text
) strict;
create index worker_jobs_by_task on worker_jobs (task_id, dispatched_at);
create index worker_jobs_active on worker_jobs (worker_type) where closed_at is null;

create table worker_results (
    job_id text primary key,
    task_id text not null,
    stage text not null,
    status text not null check (status in ('succeeded', 'failed', 'blocked')),
    verdict_outcome text,
    failure_class text,
    artifact_count integer not null,
    runtime_ms integer not null,
    received_at text not null,
    document_seq integer not null
) strict;

create table checkpoints (
    checkpoint_id text primary key,
    task_id text not null,
    checkpoint_type text not null check (checkpoint_type in ('code', 'approval')),
    stage text not null,
    ref text not null,
    actor text,
    created_at text not null,
    document text not null
) strict;
create index checkpoints_by_task on checkpoints (task_id, created_at);

create table approvals (
    task_id text not null,
    ordinal integer not null check (ordinal >= 1),
    token_sha256 text not null,
    issued_at text not null,
    expires_at text not null,
    used_at text,
    primary key (task_id, ordinal)
) strict;

create table context_bundles (
    bundle_id text primary key,
    task_id text not null,
    purpose text not null,
    rebuild_level text not null,
    raw_included integer not null check (raw_included in (0, 1)),
    generator_version text not null,
    generated_at text not null,
    document_seq integer not null
) strict;
create index context_bundles_by_task on context_bundles (task_id);

create table doc_acks (
    ack_ref text primary key,
    task_id text not null,
    doc_id text not null,
    version text not null,
    acknowledged_at text not null
) strict;
create index doc_acks_by_task on doc_acks (task_id, acknowledged_at);

create table entity_links (
    task_id text not null,
    entity_kind text not null,
    remote_ref text not null,
    connection_ref text not null,
    link_role text not null,
    linked_at text not null,
    primary key (task_id, entity_kind, remote_ref)
) strict;

create table sync_events (
    sync_event_ref text primary key,
    task_id text not null,
    connection_ref text not null,
    direction text not null check (direction in ('inbound', 'outbound')),
    event_type text not null,
    remote_ref text not null,
    status text not null check (status in ('pending', 'applied', 'failed', 'skipped')),
    occurred_at text not null
) strict;

create table _leases (
    job_id text primary key,
    task_id text not null,
    lease_owner text not null,
    worker_id text,
    acquired_at text not null,
    lease_expires_at text not null,
    last_heartbeat_at text
) strict, without rowid;

create table _locks (
    resource_key text primary key,
    resource_type text not null,
    lock_id text not null,
    owner_task_id text not null,
    acquired_at text not null,
    expires_at text not null
) strict, without rowid;

create table _instances (
    instance_id text primary key,
    kind text not null check (kind in ('local', 'served')),
    started_at text not null
) strict;

create table _repositories (
    repository text primary key,
    path text not null,
    ci_command text,
    added_at text not null
) strict;
