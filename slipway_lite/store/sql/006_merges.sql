-- Files that were merged into this one (`slipway db merge`): their heads, and their whole chains, row by row, with the
-- row of this file that holds what each of them held. merged_rows is not chained again: recomputing a chain has to end
-- at the head that merged_files, which is chained, has of it.

create table merged_files (
    seq integer primary key references ledger (seq),
    stream text not null,
    sequence integer not null check (sequence >= 1),
    at text not null,
    name text not null,
    head_seq integer not null check (head_seq >= 1),
    head_sha256 text not null,
    unique (stream, sequence)
) strict;

create table merged_rows (
    file_seq integer not null references merged_files (seq),
    seq integer not null check (seq >= 1),
    at text not null,
    kind text not null,
    stream text not null,
    stream_sequence integer not null check (stream_sequence >= 1),
    payload_sha256 text not null,
    prev_sha256 text not null,
    sha256 text not null,
    merged_seq integer references ledger (seq),
    primary key (file_seq, seq)
) strict, without rowid;
create index merged_rows_by_row on merged_rows (merged_seq);

create view shown_merged_files as
select
    f.seq, f.at, redact(f.name) as name, f.head_seq, f.head_sha256,
    (select count(*) from merged_rows m where m.file_seq = f.seq) as row_count,
    (select count(*) from merged_rows m where m.file_seq = f.seq and m.merged_seq is null) as forgotten_count
from merged_files f;

create view shown_merged_rows as
select m.file_seq, m.seq, m.at, m.kind, m.stream_sequence, m.payload_sha256, m.prev_sha256, m.sha256, m.merged_seq
from merged_rows m;
