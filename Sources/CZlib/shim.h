#include <string.h>
#include <zlib.h>

// The most bytes that gzip makes of a number of bytes.
static inline size_t backstitch_gzip_bound(size_t count) {
    // What a header and a trailer of gzip have more than those of zlib, which the bound is for.
    return compressBound(count) + 18;
}

// Compresses to gzip (RFC 1952) and tells how many bytes it made; 0 where there is no memory.
static inline size_t backstitch_gzip(
    const unsigned char *bytes, size_t count, unsigned char *target, size_t target_count,
    int level) {
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    // 15 bits of window, and 16 for gzip.
    if (deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (unsigned char *)bytes;
    stream.avail_in = (unsigned int)count;
    stream.next_out = target;
    stream.avail_out = (unsigned int)target_count;
    int status = deflate(&stream, Z_FINISH);
    size_t made = stream.total_out;
    deflateEnd(&stream);
    return status == Z_STREAM_END ? made : 0;
}
