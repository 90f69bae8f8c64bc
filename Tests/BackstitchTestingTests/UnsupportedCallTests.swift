import BackstitchCore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// Calls that the simulated service does not answer yet say so, and leave nothing behind.
@Suite(.budgeted) struct UnsupportedCallTests {
    private let zone = ZoneID("Zone")

    @Test func `queries are unsupported`() async throws {
        let service = SimulatedRecordService()
        #expect(service.scope == .private)
        await expectUnsupported {
            _ = try await service.query(
                ServiceQuery(recordType: "Note"), in: zone, after: nil, limit: 10, fields: nil)
        }
    }

    private func expectUnsupported(_ call: () async throws -> Void) async {
        let error = await #expect(throws: ServiceError.self) { try await call() }
        #expect(error?.code == .unsupported)
    }
}
