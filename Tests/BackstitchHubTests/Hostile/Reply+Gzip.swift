import CZlib
import RawConnection

extension RawConnection.Reply {
    /// The reply without its compression; nil where what says that it is gzip is none.
    var inflated: RawConnection.Reply? {
        // An answer to HEAD has the headers alone.
        guard headers["content-encoding"] == "gzip", !body.isEmpty else { return self }
        var stream = z_stream()
        // 15 bits of window, and 16 for gzip.
        let status = inflateInit2_(
            &stream, 15 + 16, zlibVersion(), Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var reply = self
        reply.body = []
        var coded = body
        let isWhole = coded.withUnsafeMutableBufferPointer { coded in
            stream.next_in = coded.baseAddress
            stream.avail_in = UInt32(coded.count)
            while true {
                var part = [UInt8](repeating: 0, count: 65_536)
                let (status, left) = part.withUnsafeMutableBufferPointer { part in
                    stream.next_out = part.baseAddress
                    stream.avail_out = UInt32(part.count)
                    return (inflate(&stream, Z_NO_FLUSH), Int(stream.avail_out))
                }
                reply.body += part.dropLast(left)
                if status == Z_STREAM_END { return stream.avail_in == 0 }
                guard status == Z_OK else { return false }
            }
        }
        return isWhole ? reply : nil
    }
}
