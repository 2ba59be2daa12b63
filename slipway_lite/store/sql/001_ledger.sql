-- The ledger, the journals' common table, and the content-addressed materials.
-- Every append-only payload table starts with the columns seq, stream, sequence, at: see store/tables.py.

create table ledger (
    seq integer primary key check (seq >= 1),
    at text not null,
    kind text not null,
    stream text not null,
    stream_sequence integer not null check (stream_sequence >= 1),
    payload_sha256 text not null,
    prev_sha256 text not null,
    sha256 text not null,
    unique (kind, stream, stream_sequence)
) strict;

create table journal_events (
    seq integer primary key references ledger (seq),
    stream text not null,
    sequence integer not null check (sequence >= 1),
    at text not null,
    type text not null,
    data text not null check (json_valid(data)),
    unique (stream, sequence)
) strict;

create table materials (
    seq integer primary key references ledger (seq),
    stream text not null,
    sequence integer not null check (sequence = 1),
    at text not null,
    material_sha256 text not null unique,
    bytes integer not null check (bytes >= 0),
    content text not null,
    unique (stream, sequence)
) strict;
