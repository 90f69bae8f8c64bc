import BackstitchCore
import BackstitchSync
import Threading

/// Watches that the devices on one store send no file whose receipt they have.
///
/// A receipt counts from the answer to the upload until it is used, refused or ended, or until something may
/// have kept the device from storing it or from telling when it ends.
final class FileLedger: Sendable {
    private struct Place: Hashable {
        var zone: String
        var recordName: String
        var fieldName: String
        var content: String
    }

    private struct State {
        /// Until when the receipts are good, by the common time.
        var receipts: [Place: Int64] = [:]
        var violations: [String] = []
        var sentCount = 0
    }

    private let state = Locked(State())
    /// Receipts are taken for ended this long before they do, and clocks are off by an hour each way.
    private static let lifeMilliseconds: Int64 = 13 * 60_000

    var violations: [String] { state.withLock(\.violations) }
    /// How many files were sent to the end.
    var sentCount: Int { state.withLock(\.sentCount) }

    /// A file is about to be sent.
    func begin(_ path: String, _ field: AssetField, _ zone: ZoneID, now: Int64) {
        let place = Self.place(path, field, zone)
        state.withLock { state in
            guard let until = state.receipts[place], until > now else { return }
            state.violations.append(
                "\(place.content.prefix(8)) is sent again for \(place.recordName).\(place.fieldName)"
            )
        }
    }

    /// A file was sent and answered.
    func end(_ path: String, _ field: AssetField, _ zone: ZoneID, now: Int64) {
        state.withLock { state in
            state.sentCount += 1
            state.receipts[Self.place(path, field, zone)] = now + Self.lifeMilliseconds
        }
    }

    /// A record was sent: unless it is in conflict, its receipts are used or refused.
    func settle(_ recordName: String, isConflict: Bool) {
        guard !isConflict else { return }
        state.withLock { state in
            state.receipts = state.receipts.filter { $0.key.recordName != recordName }
        }
    }

    /// Nothing is known of receipts any more.
    func forget() { state.withLock { $0.receipts = [:] } }

    private static func place(_ path: String, _ field: AssetField, _ zone: ZoneID) -> Place {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return Place(
            zone: zone.zoneName, recordName: field.recordName, fieldName: field.fieldName,
            content: name)
    }
}
