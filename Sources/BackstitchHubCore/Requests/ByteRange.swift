/// Which part of a file a request asks for (RFC 9110, section 14).
enum ByteRange: Hashable {
    case whole
    case part(Range<Int>)
    /// The part is not one of the file.
    case outside

    /// Reads the header `Range`. Several parts at once, other units and text that is none count for
    /// the whole file, as does a part of another file than the one that `If-Range` names.
    init(_ request: HubRequest, tag: String, byteCount: Int) {
        self = .whole
        guard let text = request.header("Range"), text.hasPrefix("bytes="),
            request.header("If-Range").map({ $0 == tag }) ?? true
        else { return }
        let ends = text.dropFirst("bytes=".count)
            .split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2,
            ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            ends.allSatisfy({ $0.utf8.count <= 18 })
        else { return }
        switch (Int(ends[0]), Int(ends[1])) {
        case (let first?, let last?):
            guard first <= last else { return }
            self = first < byteCount ? .part(first..<min(last + 1, byteCount)) : .outside
        case (let first?, nil): self = first < byteCount ? .part(first..<byteCount) : .outside
        case (nil, let count?):
            let start = max(0, byteCount - count)
            self = start < byteCount ? .part(start..<byteCount) : .outside
        case (nil, nil): return
        }
    }
}
