/// A set of byte strings in ascending order.
final class SortedBytes: Sendable {
    private let bytes: [UInt8]
    private let ends: [Int]
    /// How many bytes all members begin with alike.
    private let sharedCount: Int
    /// The eight bytes of each member after those, as a number that sorts as they do.
    private let leads: [UInt64]

    init(_ members: [[UInt8]]) {
        let sorted = Set(members).sorted { $0.lexicographicallyPrecedes($1) }
        let shared = zip(sorted.first ?? [], sorted.last ?? []).prefix { $0 == $1 }.count
        bytes = sorted.flatMap { $0 }
        ends = sorted.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.count) }
        sharedCount = shared
        leads = sorted.map { member in
            unsafe member.withUnsafeBytes { unsafe $0.leading(from: shared) }
        }
    }

    /// Whether a byte string is in the set: O(log n).
    func contains(_ member: UnsafeRawBufferPointer) -> Bool {
        let lead = unsafe member.leading(from: sharedCount)
        var (low, high) = (0, leads.count)
        while low < high {
            let middle = (low + high) / 2
            var isLess = leads[middle] < lead
            if leads[middle] == lead {
                let order = unsafe bytes.withUnsafeBytes {
                    unsafe $0.part(ends[middle]..<ends[middle + 1]).order(member)
                }
                if order == 0 { return true }
                isLess = order < 0
            }
            if isLess { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
