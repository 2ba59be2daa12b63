-- Projections of the machine protocol's journals: dropped and replayed by `slipway db rebuild`.

create table runs (
    run_id text primary key,
    git_common_dir text not null,
    worktree_root text not null,
    git_dir text not null,
    workspace_identity text not null,
    goal text not null,
    state text not null check (state in ('active', 'paused', 'stopped', 'ended')),
    pause_reason text check (pause_reason in ('decision_required', 'destructive_confirmation_required',
                                              'environment_unavailable', 'budget_exhausted')),
    review_enabled integer not null check (review_enabled in (0, 1)),
    review_pending integer not null check (review_pending in (0, 1)),
    initial_budget integer not null check (initial_budget between 1 and 1000),
    remaining_budget integer not null check (remaining_budget >= 0),
    action_count integer not null,
    changed_since_start integer not null check (changed_since_start in (0, 1)),
    final_git_observed integer not null check (final_git_observed in (0, 1)),
    source_url text,
    requirements_revision text,
    summary text,
    created_at text not null,
    updated_at text not null,
    event_count integer not null,
    head_seq integer not null references ledger (seq)
) strict, without rowid;
create index runs_by_repository on runs (git_common_dir, created_at, run_id);

create table run_actions (
    run_id text not null,
    ordinal integer not null check (ordinal >= 1),
    action_id text not null,
    kind text not null check (kind in ('orient', 'clarify', 'implement', 'review', 'summarize')),
    issued_at text not null,
    remaining_budget integer not null,
    host_brief text,
    status text check (status in ('completed', 'needs_input', 'partial', 'error')),
    pause_reason text,
    question text,
    implementation_result text,
    review_result text,
    attempts integer,
    files_changed text check (files_changed is null or json_valid(files_changed)),
    suggested_kind text,
    summary text,
    outcome_payload_sha256 text,
    outcome_at text,
    voided integer not null check (voided in (0, 1)),
    skipped integer not null check (skipped in (0, 1)),
    primary key (run_id, ordinal),
    unique (run_id, action_id)
) strict, without rowid;

create table run_activities (
    run_id text not null,
    ordinal integer not null check (ordinal >= 1),
    action_id text not null,
    kind text not null check (kind in ('test', 'typecheck', 'build', 'lint')),
    command text not null,
    exit_code integer not null,
    summary text not null,
    at text not null,
    primary key (run_id, ordinal)
) strict, without rowid;

create table run_findings (
    run_id text not null,
    ordinal integer not null check (ordinal >= 1),
    action_id text not null,
    location text not null,
    summary text not null,
    detail text not null,
    at text not null,
    primary key (run_id, ordinal)
) strict, without rowid;

create table run_answers (
    run_id text not null,
    ordinal integer not null check (ordinal >= 1),
    action_id text not null,
    text text not null,
    confirm_destructive integer not null check (confirm_destructive in (0, 1)),
    scope_sha256 text,
    payload_sha256 text not null,
    requirements_revision text,
    active integer not null check (active in (0, 1)),
    superseded_by text,
    at text not null,
    primary key (run_id, ordinal)
) strict, without rowid;

create table git_observations (
    run_id text not null,
    ordinal integer not null check (ordinal >= 1),
    at text not null,
    outcome text not null check (outcome in ('observed', 'unchanged', 'failed')),
    head text,
    index_fingerprint text,
    status_fingerprint text,
    snapshot_hash text,
    path_fingerprint text,
    path_count integer,
    dirty_files text check (dirty_files is null or json_valid(dirty_files)),
    content_observation_complete integer,
    content_bytes_hashed integer,
    details_truncated integer,
    changed_since_start integer,
    primary key (run_id, ordinal)
) strict, without rowid;
