import BackstitchCore

/// A numeric address of IP; one of version 4 that is written as version 6 counts as version 4.
package struct NetworkAddress: Hashable, Sendable {
    /// In network order: 4 bytes of version 4, 16 of version 6.
    package let bytes: [UInt8]

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// Reads an address; nil if the text is none.
    package init?(_ text: some StringProtocol) {
        let text = Array(text.utf8)
        // The zone of a link-local address says through which interface, and not who.
        let host = text.prefix { $0 != UInt8(ascii: "%") }
        guard let bytes = Self.version4(text[...]) ?? Self.version6(host) else { return nil }
        self.init(bytes: bytes)
    }

    /// The address of bytes in network order, 4 or 16.
    package init(bytes: [UInt8]) {
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mappedPrefix)
        self.bytes = isMapped ? Array(bytes.dropFirst(12)) : bytes
    }

    /// What one client hardly has many of: the address, of version 6 its network of 64 bits.
    package var group: NetworkAddress {
        bytes.count == 4
            ? self : NetworkAddress(bytes: Array(bytes.prefix(8)) + Array(repeating: 0, count: 8))
    }

    /// Four numbers (RFC 3986, section 3.2.2): `192.0.2.1`.
    private static func version4(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        let bytes = parts.compactMap { part -> UInt8? in
            guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0"),
                part.allSatisfy({ (0x30...0x39).contains($0) })
            else { return nil }
            return UInt8(exactly: part.reduce(0) { $0 * 10 + Int($1 - 0x30) })
        }
        return bytes.count == 4 ? bytes : nil
    }

    /// Eight groups (RFC 4291, section 2.2): `::` once stands for as many zeros as are missing, and the
    /// last two may be an address of version 4.
    private static func version6(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let gap = Array("::".utf8)
        guard let place = text.firstRange(of: gap) else {
            let bytes = groups(text, mayEndAsVersion4: true)
            return bytes?.count == 16 ? bytes : nil
        }
        let (head, tail) = (text[..<place.lowerBound], text[place.upperBound...])
        guard let start = head.isEmpty ? [] : groups(head, mayEndAsVersion4: false),
            let end = tail.isEmpty ? [] : groups(tail, mayEndAsVersion4: true),
            start.count + end.count <= 14
        else { return nil }
        return start + Array(repeating: 0, count: 16 - start.count - end.count) + end
    }

    private static func groups(_ text: ArraySlice<UInt8>, mayEndAsVersion4: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        let groups = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        for (index, group) in groups.enumerated() {
            if mayEndAsVersion4, index == groups.count - 1, let end = version4(group) {
                bytes += end
                continue
            }
            guard (1...4).contains(group.count),
                group.allSatisfy({ $0.hexadecimalDigit != nil })
            else { return nil }
            let number = group.reduce(0) { $0 << 4 | Int($1.hexadecimalDigit ?? 0) }
            bytes += [UInt8(number >> 8), UInt8(number & 0xFF)]
        }
        return bytes
    }
}
