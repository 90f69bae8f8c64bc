import Backstitch
import BackstitchCore
import Threading

/// All versions of records that a service ever had, as somebody sees them who looks after each request.
final class VersionBook: Sendable {
    private struct State {
        var token: String?
        var versions: [String: ServiceRecord] = [:]
        var writers: [String: String] = [:]
        var live: [String: ServiceRecord] = [:]
    }

    private let service: any RecordService
    private let zone: ZoneID
    private let state = Locked(State())

    /// - Parameter service: A connection without faults.
    init(_ service: any RecordService, zone: ZoneID) {
        (self.service, self.zone) = (service, zone)
    }

    /// Looks what changed since the last time, and notes who did it.
    func look(after writer: String) async throws {
        while true {
            let token = state.withLock { $0.token }
            let page: ZoneChangesPage
            do throws(ServiceError) {
                page = try await service.zoneChanges(
                    in: zone, since: token, limit: 1_000, fields: nil)
            } catch {
                if error.code == .zoneNotFound { return }
                throw error
            }
            state.withLock { state in
                for record in page.records {
                    state.versions[record.changeTag] = record
                    if state.writers[record.changeTag] == nil {
                        state.writers[record.changeTag] = writer
                    }
                    state.live[record.recordName] = record
                }
                for deletion in page.deletions { state.live[deletion.recordName] = nil }
                state.token = page.token
            }
            if !page.moreComing { return }
        }
    }

    /// The version with a change tag.
    func version(_ tag: String) -> ServiceRecord? { state.withLock { $0.versions[tag] } }

    /// Who wrote the version with a change tag.
    func writer(_ tag: String) -> String? { state.withLock { $0.writers[tag] } }

    /// The records that there are, by name.
    var records: [String: ServiceRecord] { state.withLock { $0.live } }
}
