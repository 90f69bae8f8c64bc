/// Selects the operations that a store's log keeps.
///
/// Removed operations are replaced by baselines: records, their sync state and the conflict journal
/// are not changed, and the tables still follow from the log. Only the history of a record before
/// its baseline is lost. Operations that the service does not have are always kept, but for those that
/// it is never to have: local-only ones, and all of a store that is opened with `syncs: false`.
public enum RetentionPolicy: Hashable, Sendable {
    /// All operations.
    case keepAll
    /// Those that are not synced, and those of the last days, by the clock of operations.
    ///
    /// - Parameter days: From 0 to ``daysMax``.
    case keepUnsynced(days: Int)
    /// Those that are not synced.
    case keepUnsyncedOnly

    /// The most days that a policy can name.
    public static let daysMax = 36_500

    /// What is wrong with the policy and what to do; nil if it is possible.
    package var violation: String? {
        guard case .keepUnsynced(let days) = self, !(0...Self.daysMax).contains(days) else {
            return nil
        }
        return "A retention policy keeps operations of 0 to \(Self.daysMax) days; this one names "
            + "\(days). Choose another number."
    }

    /// The time before which operations may go, in milliseconds since 1970; nil if none may.
    package func cutoff(at milliseconds: Int64) -> Int64? {
        switch self {
        case .keepAll: nil
        case .keepUnsyncedOnly: .max
        case .keepUnsynced(let days): milliseconds - Int64(days) * 86_400_000
        }
    }
}
