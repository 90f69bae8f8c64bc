/// Looks at the first bytes of a connection as they come, before an engine parses them, and says whether
/// they are the head of a request that is safe to act upon.
///
/// It is stricter than engines are: one blank between the parts of the first line, lines that end in
/// CRLF, no zero bytes, no folded lines. What two programs may read differently is refused (RFC 9112,
/// sections 2.2, 3, 5 and 11.2).
enum HeadScan {
    enum Verdict: Hashable, Sendable {
        /// The end of the head has not come yet.
        case incomplete
        case good
        /// The status of the answer.
        case refused(Int)
    }

    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let blank = UInt8(ascii: " ")
    private static let tab = UInt8(ascii: "\t")

    /// Looks at all bytes that came so far.
    ///
    /// - Complexity: O(*n*) in the bytes of the head.
    static func verdict(_ bytes: UnsafeRawBufferPointer, _ limits: HTTPLimits) -> Verdict {
        // Empty lines in front of the first one are allowed (RFC 9112, section 2.2).
        var start = 0
        while start + 1 < bytes.count, bytes[start] == carriageReturn,
            bytes[start + 1] == lineFeed
        {
            start += 2
        }
        guard start < limits.headBytes else { return .refused(431) }
        var lines: [Range<Int>] = []
        var lineStart = start
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if byte == carriageReturn {
                guard index + 1 < bytes.count else { break }
                guard bytes[index + 1] == lineFeed else { return .refused(400) }
                if lineStart == index { return verdict(bytes, lines, limits) }
                lines.append(lineStart..<index)
                guard lines.count <= limits.headers + 1 else { return .refused(431) }
                index += 2
                lineStart = index
                continue
            }
            guard byte >= blank && byte != 0x7F || byte == tab && !lines.isEmpty else {
                return .refused(400)
            }
            index += 1
            if index - start >= limits.headBytes { return .refused(lines.isEmpty ? 414 : 431) }
            // The first line has little beside the target.
            if lines.isEmpty, index - start > limits.targetBytes + 64 { return .refused(414) }
        }
        return .incomplete
    }

    private static func verdict(
        _ bytes: UnsafeRawBufferPointer, _ lines: [Range<Int>], _ limits: HTTPLimits
    ) -> Verdict {
        guard let first = lines.first else { return .refused(400) }
        let parts = bytes[first].split(separator: blank, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return .refused(400) }
        let version = text(parts[2])
        if version.hasPrefix("HTTP/"), version.utf8.count == 8, version != "HTTP/1.1",
            version != "HTTP/1.0"
        {
            return .refused(505)
        }
        var headers: [HubRequest.Header] = []
        headers.reserveCapacity(lines.count)
        for line in lines.dropFirst() {
            let line = bytes[line]
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return .refused(400) }
            headers.append(
                HubRequest.Header(text(line[..<colon]), trimmed(line[(colon + 1)...])))
        }
        let head = RequestHead(
            method: text(parts[0]), target: text(parts[1]), version: version, headers: headers)
        do throws(RequestHead.Refusal) {
            _ = try head.check(limits)
            return .good
        } catch {
            return .refused(error.rawValue)
        }
    }

    private static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Array(bytes), as: UTF8.self)
    }

    /// The value of a header without the blanks around it.
    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        var bytes = bytes
        while let byte = bytes.first, byte == blank || byte == tab { bytes.removeFirst() }
        while let byte = bytes.last, byte == blank || byte == tab { bytes.removeLast() }
        return text(bytes)
    }
}
