import BackstitchCore
import BackstitchStore
import Foundation

/// What the last round left: how the engine stands while nothing runs.
enum RestState: Equatable, Sendable {
    case idle
    case waiting(untilMilliseconds: Int64)
    case blocked(ServiceError.Code)
    case suspended(ServiceError.Code)
    case standby

    /// What the engine shows.
    var status: SyncStatus {
        switch self {
        case .idle: .idle
        case .waiting(let due): .backingOff(until: Date(milliseconds: due))
        case .blocked(let code): .blocked(code)
        case .suspended(let code): .suspended(code)
        case .standby: .standby
        }
    }
}
