-- What is shown of the file: projections of the audit events (self-improvement/v1), and the public views.
-- The views show ids, kinds, states, results, exit codes, counts, times and digests, and nothing that a person or a
-- host wrote, but for a few names and paths that go through redact(), a function of every connection of ours. Ids are
-- ours, but for those of imported events, which are redacted as well. A later script that alters a table drops the views
-- over it first.

create view _gates_of_audit as
select
    a.seq,
    'gate:' || iif(a.provenance is null or redact(a.event_id) = a.event_id, a.event_id, 'seq-' || a.seq)
        as observation_id,
    a.occurred_at,
    iif(a.provenance is null, a.task_id, redact(a.task_id)) as task_id,
    iif(json_type(a.payload, '$.gate_id') = 'text',
        coalesce(nullif(redact(json_extract(a.payload, '$.gate_id')), ''), 'unknown'), 'unknown') as gate_id,
    iif(json_type(a.payload, '$.gate_owner') = 'text',
        coalesce(nullif(redact(json_extract(a.payload, '$.gate_owner')), ''), 'unknown'), 'unknown') as owner,
    iif(json_type(a.payload, '$.policy_revision') = 'text',
        coalesce(nullif(redact(json_extract(a.payload, '$.policy_revision')), ''), 'unknown'),
        'unknown') as policy_revision,
    case when coalesce(nullif(json_extract(a.payload, '$.decision'), ''),
                       json_extract(a.payload, '$.gatefield.verdict')) in ('pass', 'warn', 'hold', 'block')
        then coalesce(nullif(json_extract(a.payload, '$.decision'), ''),
                      json_extract(a.payload, '$.gatefield.verdict'))
        else 'unknown' end as decision,
    case when json_extract(a.payload, '$.effective_action') in ('continue', 'hold', 'block')
        then json_extract(a.payload, '$.effective_action') else 'unknown' end as effective_action,
    case json_type(a.payload, '$.transition_changed')
        when 'true' then 'true' when 'false' then 'false' else 'unknown' end as transition_changed,
    iif(json_type(a.payload, '$.risk') = 'text',
        coalesce(nullif(redact(json_extract(a.payload, '$.risk')), ''), 'unknown'), 'unknown') as risk,
    case
        when json_extract(a.payload, '$.override') in ('none', 'applied') then json_extract(a.payload, '$.override')
        when json_type(a.payload, '$.override.applied') = 'true' then 'applied'
        when json_type(a.payload, '$.override.applied') = 'false' then 'none'
        else 'unknown' end as override,
    iif(a.provenance is null or redact(a.event_id) = a.event_id, a.event_id, 'seq-' || a.seq)
        as source_event_id
from audit_events a
where a.event_type = 'run.systemGateEvaluated' and a.task_id is not null and json_valid(a.payload);

create view _evidence_of_audit as
select
    a.seq,
    'evidence:' || iif(a.provenance is null or redact(a.event_id) = a.event_id, a.event_id, 'seq-' || a.seq)
        as observation_id,
    a.occurred_at,
    iif(a.provenance is null, a.task_id, redact(a.task_id)) as task_id,
    coalesce(nullif(redact(json_extract(a.payload, '$.evidence_id')), ''), 'unknown') as evidence_id,
    coalesce(nullif(redact(coalesce(
        json_extract(a.payload, '$.evidence_type'),
        (select json_extract(g.payload, '$.evidence_type') from audit_events g
         where g.stream = a.stream and g.seq < a.seq and g.event_type = 'evidence.generated'
           and json_extract(g.payload, '$.evidence_id') = json_extract(a.payload, '$.evidence_id')
         order by g.sequence limit 1))), ''), 'unknown') as evidence_type,
    iif(a.event_type = 'evidence.generated', 'generated', 'acknowledged') as disposition,
    iif(a.event_type = 'evidence.generated', null,
        coalesce(nullif(redact(json_extract(a.payload, '$.reviewed_by')), ''), 'unknown')) as reviewed_by,
    iif(a.event_type = 'evidence.generated', null,
        nullif(redact(json_extract(a.payload, '$.purpose')), '')) as purpose,
    iif(a.provenance is null or redact(a.event_id) = a.event_id, a.event_id, 'seq-' || a.seq)
        as source_event_id
from audit_events a
where a.event_type in ('evidence.generated', 'evidence.acknowledged') and a.task_id is not null and json_valid(a.payload)
  and json_type(a.payload, '$.evidence_id') = 'text' and json_extract(a.payload, '$.evidence_id') <> ''
  and (a.event_type = 'evidence.generated'
       or (json_type(a.payload, '$.reviewed_by') = 'text' and json_extract(a.payload, '$.reviewed_by') <> ''));

create view _reflections_of_retrospectives as
select
    r.seq,
    'reflection:' || r.retrospective_id as observation_id,
    r.generated_at as occurred_at,
    r.task_id,
    r.retrospective_id,
    r.generation,
    coalesce(json_extract(r.document, '$.summary_metrics.job_count'), 0) as job_count,
    coalesce(json_extract(r.document, '$.summary_metrics.job_success_count'), 0) as job_success_count,
    coalesce(json_extract(r.document, '$.summary_metrics.job_failure_count'), 0) as job_failure_count,
    coalesce(json_extract(r.document, '$.summary_metrics.job_blocked_count'), 0) as job_blocked_count,
    coalesce(json_extract(r.document, '$.summary_metrics.retry_count'), 0) as retry_count,
    coalesce(json_extract(r.document, '$.summary_metrics.checkpoint_count'), 0) as checkpoint_count,
    json_extract(r.document, '$.summary_metrics.risk_level') as risk_level,
    json_extract(r.document, '$.summary_metrics.acceptance_result') as acceptance_result,
    json_extract(r.document, '$.summary_metrics.total_duration_ms') as total_duration_ms
from retrospectives r
where json_valid(r.document);

create table gate_observations (
    observation_id text not null unique,
    occurred_at text not null,
    task_id text not null,
    gate_id text not null,
    owner text not null,
    policy_revision text not null,
    decision text not null check (decision in ('pass', 'warn', 'hold', 'block', 'unknown')),
    effective_action text not null check (effective_action in ('continue', 'hold', 'block', 'unknown')),
    transition_changed text not null check (transition_changed in ('true', 'false', 'unknown')),
    risk text not null,
    override text not null check (override in ('none', 'applied', 'unknown')),
    source_event_id text not null,
    primary key (occurred_at, observation_id)
) strict, without rowid;

create table evidence_observations (
    observation_id text not null unique,
    occurred_at text not null,
    task_id text not null,
    evidence_id text not null,
    evidence_type text not null,
    disposition text not null check (disposition in ('generated', 'acknowledged')),
    reviewed_by text,
    purpose text,
    source_event_id text not null,
    primary key (occurred_at, observation_id),
    check (disposition = 'generated' or reviewed_by is not null)
) strict, without rowid;

create table reflections (
    observation_id text not null unique,
    occurred_at text not null,
    task_id text not null,
    retrospective_id text not null,
    generation integer not null,
    job_count integer not null,
    job_success_count integer not null,
    job_failure_count integer not null,
    job_blocked_count integer not null,
    retry_count integer not null,
    checkpoint_count integer not null,
    risk_level text,
    acceptance_result text,
    total_duration_ms integer,
    primary key (occurred_at, observation_id)
) strict, without rowid;

create trigger audit_events_give_gate_observations after insert on audit_events
when new.event_type = 'run.systemGateEvaluated'
begin
    insert into gate_observations (observation_id, occurred_at, task_id, gate_id, owner, policy_revision, decision,
        effective_action, transition_changed, risk, override, source_event_id)
    select observation_id, occurred_at, task_id, gate_id, owner, policy_revision, decision,
        effective_action, transition_changed, risk, override, source_event_id
    from _gates_of_audit where seq = new.seq; end;

create trigger audit_events_give_evidence_observations after insert on audit_events
when new.event_type in ('evidence.generated', 'evidence.acknowledged')
begin
    insert into evidence_observations (observation_id, occurred_at, task_id, evidence_id, evidence_type, disposition,
        reviewed_by, purpose, source_event_id)
    select observation_id, occurred_at, task_id, evidence_id, evidence_type, disposition,
        reviewed_by, purpose, source_event_id
    from _evidence_of_audit where seq = new.seq; end;

create trigger retrospectives_give_reflections after insert on retrospectives
begin
    insert into reflections (observation_id, occurred_at, task_id, retrospective_id, generation, job_count,
        job_success_count, job_failure_count, job_blocked_count, retry_count, checkpoint_count, risk_level,
        acceptance_result, total_duration_ms)
    select observation_id, occurred_at, task_id, retrospective_id, generation, job_count,
        job_success_count, job_failure_count, job_blocked_count, retry_count, checkpoint_count, risk_level,
        acceptance_result, total_duration_ms
    from _reflections_of_retrospectives where seq = new.seq; end;

-- What an older file has from before these tables were there.
insert into gate_observations (observation_id, occurred_at, task_id, gate_id, owner, policy_revision, decision,
    effective_action, transition_changed, risk, override, source_event_id)
select observation_id, occurred_at, task_id, gate_id, owner, policy_revision, decision,
    effective_action, transition_changed, risk, override, source_event_id
from _gates_of_audit order by seq;

insert into evidence_observations (observation_id, occurred_at, task_id, evidence_id, evidence_type, disposition,
    reviewed_by, purpose, source_event_id)
select observation_id, occurred_at, task_id, evidence_id, evidence_type, disposition,
    reviewed_by, purpose, source_event_id
from _evidence_of_audit order by seq;

insert into reflections (observation_id, occurred_at, task_id, retrospective_id, generation, job_count,
    job_success_count, job_failure_count, job_blocked_count, retry_count, checkpoint_count, risk_level,
    acceptance_result, total_duration_ms)
select observation_id, occurred_at, task_id, retrospective_id, generation, job_count,
    job_success_count, job_failure_count, job_blocked_count, retry_count, checkpoint_count, risk_level,
    acceptance_result, total_duration_ms
from _reflections_of_retrospectives order by seq;

create view shown_runs as
select
    r.run_id, r.state, r.pause_reason, r.initial_budget, r.remaining_budget, r.action_count,
    r.review_enabled, r.changed_since_start, r.final_git_observed,
    r.source_url is not null as has_source, r.requirements_revision, r.workspace_identity,
    r.created_at, r.updated_at,
    cast(round((julianday(r.updated_at) - julianday(r.created_at)) * 86400) as integer) as seconds,
    r.event_count, r.head_seq
from runs r;

create view shown_actions as
select
    a.run_id, a.ordinal, a.action_id, a.kind, a.status, a.pause_reason, a.implementation_result, a.review_result,
    a.suggested_kind, a.attempts, json_array_length(a.files_changed) as files_changed_count,
    (select count(*) from run_activities c where c.run_id = a.run_id and c.action_id = a.action_id) as activity_count,
    (select count(*) from run_findings f where f.run_id = a.run_id and f.action_id = a.action_id) as finding_count,
    a.host_brief is not null as has_host_brief, a.voided, a.skipped, a.remaining_budget,
    a.issued_at, a.outcome_at,
    cast(round((julianday(a.outcome_at) - julianday(a.issued_at)) * 86400) as integer) as seconds,
    a.outcome_payload_sha256
from run_actions a;

create view shown_activities as
select c.run_id, c.ordinal, c.action_id, c.kind, redact(c.command) as command, c.exit_code, c.at
from run_activities c;

create view shown_findings as
select f.run_id, f.ordinal, f.action_id, redact(f.location) as location, f.at
from run_findings f;

create view shown_answers as
select
    n.run_id, n.ordinal, n.action_id, a.kind as action_kind, a.pause_reason, n.confirm_destructive, n.active,
    n.superseded_by, n.scope_sha256, n.requirements_revision, n.at,
    cast(round((julianday(n.at) - julianday(a.outcome_at)) * 86400) as integer) as waited_seconds
from run_answers n left join run_actions a on a.run_id = n.run_id and a.action_id = n.action_id;

create view shown_git_observations as
select
    g.run_id, g.ordinal, g.at, g.outcome, g.head, g.path_count, g.changed_since_start, g.content_observation_complete,
    g.content_bytes_hashed, g.details_truncated, g.snapshot_hash
from git_observations g;

create view shown_claims as
select
    a.run_id, a.action_id, a.ordinal, redact(claimed.value) as path,
    case
        when exists (select 1 from git_observations g, json_each(g.dirty_files) seen
                     where g.run_id = a.run_id and g.outcome = 'observed' and seen.value = claimed.value) then 'seen'
        when (select count(distinct g.head) > 1 or max(g.details_truncated) or max(g.outcome = 'failed')
              from git_observations g where g.run_id = a.run_id) then 'unknown'
        else 'never seen' end as git,
    a.outcome_at as at
from run_actions a, json_each(a.files_changed) claimed;

create view shown_turns as
select
    t.seq, t.at, t.turn_id, t.skill, t.verdict, t.source, t.repair, json_array_length(t.attempts) as attempt_count,
    json_array_length(t.diagnostics) as diagnostic_count, json_array_length(t.errors) as error_count,
    t.text_sha256, t.text_bytes, t.snapshot_sha256,
    (select r.run_id from runs r where r.run_id = t.run_id) as run_id
from turns t;

create view shown_tasks as
select
    t.task_id, t.state, t.risk_level, t.last_verdict, t.version, t.active_job_id, t.created_at, t.updated_at,
    t.completed_at,
    cast(round((julianday(coalesce(t.completed_at, t.updated_at)) - julianday(t.created_at)) * 86400) as integer)
        as seconds,
    (select count(*) from worker_jobs j where j.task_id = t.task_id) as job_count,
    (select coalesce(sum(j.retry_count > 0), 0) from worker_jobs j where j.task_id = t.task_id) as retried_job_count,
    t.head_seq
from tasks t;

create view shown_jobs as
select
    j.job_id, j.task_id, j.stage, j.worker_type, j.execution_backend, j.status, j.risk_level, j.retry_count,
    r.status as result_status, r.verdict_outcome, r.failure_class, r.artifact_count, r.runtime_ms,
    j.dispatched_at, j.closed_at,
    cast(round((julianday(j.closed_at) - julianday(j.dispatched_at)) * 86400) as integer) as seconds
from worker_jobs j left join worker_results r on r.job_id = j.job_id;

create view shown_transitions as
select e.task_id, e.sequence, e.from_state, e.to_state, e.actor_type, e.occurred_at
from state_transition_events e;

create view shown_audit_events as
select
    a.seq, a.occurred_at,
    iif(a.provenance is null, a.event_type, redact(a.event_type)) as event_type,
    iif(a.provenance is null, a.task_id, redact(a.task_id)) as task_id,
    a.run_id,
    iif(a.provenance is null, a.job_id, redact(a.job_id)) as job_id,
    a.actor_type,
    iif(a.provenance is null or redact(a.event_id) = a.event_id, a.event_id, 'seq-' || a.seq) as event_id,
    iif(json_extract(a.payload, '$.stage') in ('plan', 'dev', 'acceptance'),
        json_extract(a.payload, '$.stage'), null) as stage,
    iif(json_extract(a.payload, '$.kind') in ('orient', 'clarify', 'implement', 'review', 'summarize'),
        json_extract(a.payload, '$.kind'), null) as kind,
    iif(json_extract(a.payload, '$.status') in ('completed', 'needs_input', 'partial', 'error'),
        json_extract(a.payload, '$.status'), null) as status,
    a.provenance is not null as is_imported
from audit_events a;

create view shown_ledger as
select l.seq, l.at, l.kind, l.stream_sequence, l.payload_sha256, l.prev_sha256, l.sha256
from ledger l;
