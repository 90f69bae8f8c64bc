import BackstitchHubCore

/// All addresses that begin with the same bits.
struct Network: Hashable, Sendable {
    private let address: NetworkAddress
    private let bits: Int

    /// Reads `10.0.0.0/8`, `fd00::/8`, or an address alone; nil if the text is none of these.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ NetworkAddress($0) }), parts.count <= 2 else {
            return nil
        }
        let most = address.bytes.count * 8
        guard parts.count == 2 else {
            (self.address, bits) = (address, most)
            return
        }
        guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let bits = Int(parts[1]),
            bits <= most
        else { return nil }
        (self.address, self.bits) = (address, bits)
    }

    /// Whether an address is one of the network.
    func contains(_ other: NetworkAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        return zip(address.bytes, other.bytes).enumerated().allSatisfy { index, pair in
            let count = min(max(bits - index * 8, 0), 8)
            return (pair.0 ^ pair.1) >> (8 - count) == 0
        }
    }
}
