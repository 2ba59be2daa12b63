"""GitHub Changes as Run sources: decode, classify, refresh (machine-protocol §8).

Everything here is pure: bytes and plain dicts in wire key order go in, plain dicts come out, and whoever
calls owns files, storage, ids and time. The way of a source through the modules::

    envelope.decode_envelope     bytes -> envelope, or a hard error and nothing is kept (§8.1, §8.2)
    classify.classify            envelope -> classification and materials, always (§8.3 to §8.6)
        body, scan, manifest         the grammar that the classification follows
        digests                      every framed digest
    refresh.refresh              pinned source + classification -> what the resume amounts to (§8.7)
    refresh.choose               pinned source + candidate + choice -> the source pinned from now on (§8.8)
"""
