/// Partitions that others may have changed.
package enum ChangedPartitions: Hashable, Sendable {
    case some(Set<Partition>)
    /// It is not known which.
    case all

    package func contains(_ partition: Partition) -> Bool {
        switch self {
        case .some(let partitions): partitions.contains(partition)
        case .all: true
        }
    }
}
