import Backstitch
import Foundation
import TestBudget
import Testing

/// What an earlier version of the guide's program declared.
enum GuideBefore {
    @Entity("Site") struct Site {
        var id = ID()
        var home: String
    }
}

@Entity struct Site {
    var id = ID()
    var home: URL?  // was a String
}

@Suite(.budgeted) struct GuideSchemaTests {
    @Test func `what the guide converts has the new type`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("guide-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let before = try Store(at: directory, schema: StoreSchema(GuideBefore.Site.self))
        for home in ["https://example.org", ""] {
            try before.save(GuideBefore.Site(home: home))
        }
        before.close()

        let asURL = StoreSchema.Upcaster(\Site.home) { old in
            guard case .string(let text) = old, URL(string: text) != nil else { return nil }
            return .string(text)  // a URL is stored as its text
        }
        let schema = StoreSchema(Site.self, version: 2, upcasters: [asURL])

        let store = try Store(at: directory, schema: schema)
        defer { store.close() }
        let homes = try store.read { try $0.fetch(Site.self) }.map { $0.home?.absoluteString }
        #expect(Set(homes) == ["https://example.org", nil])
    }
}
