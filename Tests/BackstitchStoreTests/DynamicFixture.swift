import Backstitch
import BackstitchCore
import Foundation

@testable import BackstitchStore

@Entity("Author") struct DynamicAuthor {
    var id = ID()
    @Attribute(.indexed) var name: String
    var born: Int?
}

@Entity("Book") struct DynamicBook {
    var id = ID()
    var title: String
    var author: DynamicAuthor.ID?
}

/// A store in a folder for one test, removed when the test ends.
final class DynamicFixture {
    let root: String
    var path: String { root + "/store" }

    init() throws {
        root = FileManager.default.temporaryDirectory.path + "/dynamic-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: root)
    }

    static let schema = StoreSchema(DynamicAuthor.self, DynamicBook.self)
    static let configuration = StoreConfiguration(
        author: "test", bytesMax: 1 << 30, clock: ManualClock(milliseconds: 1_700_000_000_123))

    /// Opens the store with its Swift types.
    func typed() throws -> Store {
        try Store(at: path, schema: Self.schema, configuration: Self.configuration)
    }

    /// Opens the store without them.
    func dynamic(_ access: StoreConfiguration.Access = .readOnly) throws -> Store {
        try Store.open(existing: path, access: access, configuration: Self.configuration)
    }

    /// Makes the store, writes, and closes it.
    func write(_ body: @Sendable (borrowing WriteTransaction) throws -> Void) throws {
        let store = try typed()
        defer { store.close() }
        try store.write { try body($0) }
    }

    /// Every file below the fixture with its bytes.
    func files() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root) {
            files[name] = FileManager.default.contents(atPath: root + "/" + name) ?? Data()
        }
        return files
    }
}

extension EntityID {
    static func named(_ name: String) -> EntityID { EntityID(key: RecordKey(RecordName(name))) }
}
