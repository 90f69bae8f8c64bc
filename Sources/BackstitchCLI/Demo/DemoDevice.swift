import Backstitch

/// A device of the story: a store on disk and a connection to the service.
struct DemoDevice {
    static let zoneName = "Catalog"

    let name: String
    let path: String
    let schema: Schema
    let service: DemoConnection
    private(set) var store: Store

    init(_ name: String, at path: String, schema: Schema, cloud: any DemoCloud) async throws {
        self.name = name
        self.path = path
        self.schema = schema
        service = DemoConnection(try await cloud.connection(device: name))
        store = try Self.open(path, schema, name)
    }

    private static func open(_ path: String, _ schema: Schema, _ author: String) throws -> Store {
        try Store(
            at: path, schema: schema,
            configuration: StoreConfiguration(durability: .full, author: author))
    }

    /// Lets go of the store and opens it again from its files.
    mutating func reopen() throws {
        store.close()
        store = try Self.open(path, schema, name)
    }

    /// An engine of its own for one round or more, which starts none by itself.
    func engine(_ policy: ConflictPolicy) -> SyncEngine {
        SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(
                zoneName: Self.zoneName, conflictPolicy: policy, syncOnSave: false))
    }

    /// What waits to be pushed.
    func waiting() throws -> OutboxCounts {
        try store.read { try $0.reader.countOutbox() }
    }
}
