/// The trigger of a round.
public enum SyncTrigger: String, Hashable, Sendable, CaseIterable {
    /// Time went by.
    case timer
    /// A local write.
    case save
    /// A failed round is tried again.
    case retry
    /// The service announced changes.
    case notification
    /// The network is back.
    case connectivity
    /// The engine was started.
    case start
    /// The application asked for it.
    case manual
}

extension SyncTrigger {
    /// Whether the round waits for other writes to join it.
    var waitsForMore: Bool { self == .save }

    /// Which of two triggers names the round that both lead to; the higher one does.
    private var strength: Int {
        switch self {
        case .timer: 0
        case .save: 1
        case .retry: 2
        case .notification: 3
        case .connectivity: 4
        case .start: 5
        case .manual: 6
        }
    }

    func stronger(_ other: SyncTrigger) -> SyncTrigger {
        other.strength > strength ? other : self
    }
}
