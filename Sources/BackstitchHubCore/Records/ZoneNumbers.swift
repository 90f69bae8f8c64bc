import Threading

/// The numbers that zones had when they were last looked at, so that what is read of a zone can be told
/// before its row was read.
///
/// They are hints: a transaction goes by the row, and reads again if the number is another one.
final class ZoneNumbers: Sendable {
    /// The most zones that are remembered; then all are forgotten.
    private static let zonesMax = 100_000

    private struct Name: Hashable {
        var partition: Partition
        var zoneName: String
    }

    private let numbers = Locked<[Name: UInt32]>([:])

    /// Where a zone probably is; nil if nothing is known of it.
    func place(of zoneName: String, in partition: Partition) -> ZonePlace? {
        let number = numbers.withLock { $0[Name(partition: partition, zoneName: zoneName)] }
        return number.map { ZonePlace(partition: partition, number: $0) }
    }

    /// Notes the number of a zone.
    func note(_ zone: ZoneRow, in partition: Partition) {
        numbers.withLock { numbers in
            let name = Name(partition: partition, zoneName: zone.zoneName)
            guard numbers[name] != zone.number else { return }
            if numbers.count >= Self.zonesMax { numbers = [:] }
            numbers[name] = zone.number
        }
    }
}
