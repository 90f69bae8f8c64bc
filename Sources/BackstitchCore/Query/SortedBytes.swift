/// A set of byte strings in one piece of memory, in ascending order.
struct SortedBytes: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = [0]

    init(_ members: [[UInt8]]) {
        let sorted = Set(members).sorted { $0.lexicographicallyPrecedes($1) }
        for member in sorted {
            bytes += member
            ends.append(bytes.count)
        }
    }

    /// Whether a byte string is in the set: O(log n).
    func contains(_ member: UnsafeRawBufferPointer) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var (low, high) = (0, ends.count - 1)
            while low < high {
                let middle = (low + high) / 2
                let order = bytes.part(ends[middle]..<ends[middle + 1]).order(member)
                if order == 0 { return true }
                if order < 0 { low = middle + 1 } else { high = middle }
            }
            return false
        }
    }
}
