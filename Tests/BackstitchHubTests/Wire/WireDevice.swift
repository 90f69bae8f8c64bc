import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting

/// A device of a world: a store, an engine and its way to the hub.
struct WireDevice {
    let name: String
    let store: Store
    let engine: SyncEngine
    let client: FaultyClient

    /// Runs a round; what the network does may end it, the store may not.
    ///
    /// - Parameters:
    ///   - fixture: The hub's time, which moves on before the round.
    ///   - clock: The engine's clock, which does too.
    /// - Returns: Whether anything came of it.
    func exchange(_ fixture: HubFixture, _ clock: ManualClock) async throws -> Bool {
        clock.advance(milliseconds: 120_000)
        fixture.advance(milliseconds: 1_000)
        do {
            let report = try await engine.sync()
            return report.pulledRecords + report.pushedRecords + report.conflicts
                + report.parkedRecords > 0 || !report.changes.isEmpty
        } catch let error as SyncError {
            if error.code == .store { throw WireFailure(description: "\(name): \(error)") }
            return true
        }
    }
}

/// What does not hold in a world, with what explains it.
struct WireFailure: Error, CustomStringConvertible {
    let description: String
}
