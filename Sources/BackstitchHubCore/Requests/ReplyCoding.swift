import CZlib

/// Whether and how replies are compressed.
enum ReplyCoding {
    /// The fewest bytes that are compressed: what fits into one packet gains nothing.
    static let byteCountMin = 1_200
    /// The most: zlib counts in 32 bits.
    private static let byteCountMax = 1 << 30
    /// Records are alike, so that more effort makes little difference.
    private static let level: Int32 = 3

    /// Whether a client that sends these headers reads gzip (RFC 9110, section 12.5.3).
    static func acceptsGzip(_ headers: [HubRequest.Header]) -> Bool {
        var weights: [String: Double] = [:]
        for header in headers where header.isNamed("accept-encoding") {
            for item in header.value.lowercased().split(separator: ",") {
                let parts = item.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
                guard let name = parts.first else { continue }
                let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
                weights[name] = weight.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            }
        }
        return (weights["gzip"] ?? weights["x-gzip"] ?? weights["*"] ?? 0) > 0
    }

    /// The bytes as gzip; nil if they don't become fewer.
    static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
        guard (byteCountMin...byteCountMax).contains(bytes.count) else { return nil }
        let bound = backstitch_gzip_bound(bytes.count)
        let coded = unsafe [UInt8](unsafeUninitializedCapacity: bound) { target, count in
            unsafe bytes.withUnsafeBufferPointer { source in
                count = unsafe backstitch_gzip(
                    source.baseAddress, source.count, target.baseAddress, bound, level)
            }
        }
        return coded.isEmpty || coded.count >= bytes.count ? nil : coded
    }
}

extension HubResponse {
    /// Puts the response into the coding that a client with these headers reads best.
    mutating func code(for headers: [HubRequest.Header]) {
        guard case .bytes(let bytes) = body, bytes.count >= ReplyCoding.byteCountMin else { return }
        self.headers.append(HubRequest.Header("Vary", "Accept-Encoding"))
        guard ReplyCoding.acceptsGzip(headers), let coded = ReplyCoding.gzip(bytes) else { return }
        self.headers.append(HubRequest.Header("Content-Encoding", "gzip"))
        body = .bytes(coded)
    }
}
