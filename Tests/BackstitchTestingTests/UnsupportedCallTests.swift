import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Testing

/// Calls that the simulated service does not answer yet say so, and leave nothing behind.
@Suite struct UnsupportedCallTests {
    private let zone = ZoneID("Zone")

    @Test func `queries and files are unsupported`() async throws {
        let service = SimulatedRecordService()
        #expect(service.scope == .private)
        await expectUnsupported {
            _ = try await service.query(
                ServiceQuery(recordType: "Note"), in: zone, after: nil, limit: 10, fields: nil)
        }
        let field = AssetField(recordName: "a", recordType: "Note", fieldName: "image")
        await expectUnsupported {
            _ = try await service.upload("/none", for: field, in: zone) { _ in }
        }
        await expectUnsupported {
            try await service.download(ServiceAsset(), to: "/none") { _ in }
        }
    }

    private func expectUnsupported(_ call: () async throws -> Void) async {
        let error = await #expect(throws: ServiceError.self) { try await call() }
        #expect(error?.code == .unsupported)
    }
}
