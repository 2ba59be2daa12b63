-- Driven turns and the snapshots they were decided from (turn contract): append-only, never the text of a turn.

create table turns (
    seq integer primary key references ledger (seq),
    stream text not null,
    sequence integer not null check (sequence >= 1),
    at text not null,
    turn_id text not null unique,
    run_id text,
    action_id text,
    skill text not null,
    verdict text not null check (verdict in ('validated', 'failed')),
    source text check (source in ('skill-outcome-v1', 'envelope-v2-strict', 'envelope-v2-compat', 'native')),
    repair text not null check (repair in ('none', 'same-session', 'fresh-call')),
    outcome text check (outcome is null or json_valid(outcome)),
    diagnostics text not null check (json_valid(diagnostics)),
    errors text not null check (json_valid(errors)),
    text_sha256 text,
    text_bytes integer check (text_bytes >= 0),
    attempts text not null check (json_valid(attempts)),
    source_revision text,
    snapshot_sha256 text,
    document_path text,
    document_revision text,
    document_sha256 text,
    decision text check (decision is null or json_valid(decision)),
    evidence text not null check (json_valid(evidence)),
    unique (stream, sequence),
    check ((verdict = 'validated') = (outcome is not null)),
    check ((verdict = 'validated') = (source is not null))
) strict;

create table workflow_snapshots (
    seq integer primary key references ledger (seq),
    stream text not null,
    sequence integer not null check (sequence >= 1),
    at text not null,
    snapshot_sha256 text not null,
    source_revision text not null,
    repository_state text not null check (repository_state in ('missing', 'draft', 'frozen', 'contradicted',
                                                               'needs-input', 'unknown')),
    unit_id text,
    snapshot text not null check (json_valid(snapshot)),
    readings text not null check (json_valid(readings)),
    unique (stream, sequence)
) strict;
