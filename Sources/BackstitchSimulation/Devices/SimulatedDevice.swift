import Backstitch
import BackstitchStore
import BackstitchTesting
import LMDB
import Threading

/// One process of a device: its home, and the store and engine that live until it crashes.
///
/// Several may have the same home.
struct SimulatedDevice {
    struct Crashed: Error {}

    let index: Int
    let name: String
    let home: SimulatedHome
    let service: SimulatedRecordService
    private var configuration: SyncConfiguration
    /// What it exchanges.
    private(set) var selection: SimulatedSelection
    private let intermediary: @Sendable (any RecordService) -> any RecordService
    /// The version of the schema that its application has.
    private(set) var schema: SimulatedSchema
    /// How many data migrations its application has.
    private(set) var migrations: Int
    private(set) var store: Store
    private(set) var engine: SyncEngine
    private(set) var connection: DeviceConnection
    /// The life of its process, with what all of its engines talk to.
    private var life: ProcessLife
    /// Until this step it does not exchange.
    var offlineUntil = 0
    /// Runs before and after each transfer of a file.
    var duringTransfer: (@Sendable () async -> Void)? {
        didSet { connection.setDuringTransfer(duringTransfer) }
    }

    init(
        index: Int, home: SimulatedHome, service: SimulatedRecordService,
        configuration: SyncConfiguration, setting: SimulatedDeviceSetting,
        intermediary: @escaping @Sendable (any RecordService) -> any RecordService
    ) throws {
        self.index = index
        schema = setting.schema
        selection = setting.selection
        migrations = setting.migrations ?? 0
        name = Self.name(index)
        self.home = home
        self.service = service
        self.configuration = configuration
        self.configuration.selection = try selection.selection(of: schema)
        self.intermediary = intermediary
        store = try Self.open(home, schema, migrations)
        connection = DeviceConnection(intermediary(service), process: index, home: home)
        life = ProcessLife(connection)
        engine = SyncEngine(store: store, service: connection, configuration: self.configuration)
    }

    static func name(_ index: Int) -> String { "device \(index)" }

    private static func open(
        _ home: SimulatedHome, _ schema: SimulatedSchema, _ migrations: Int
    ) throws -> Store {
        let (clock, disk) = (home.clock, home.disk)
        let store = try Store(
            at: home.directory, schema: schema.schema,
            configuration: StoreConfiguration(
                durability: .relaxed, bytesMax: 1 << 26,
                dataMigrations: schema == .old ? [] : home.migrations.first(migrations),
                clock: clock))
        store.environment.setCommitFault { disk.fault() }
        return store
    }

    var isCrashed: Bool { life.isCrashed }

    /// The zone that its application names.
    var zoneName: String { configuration.zoneName }

    /// Another engine on its store, of an application that names another zone.
    func engine(of zone: ZoneID) -> SyncEngine {
        var configuration = configuration
        configuration.zoneName = zone.zoneName
        return SyncEngine(store: store, service: connection, configuration: configuration)
    }

    /// Ends the device where it stands: nothing is sent or stored any more.
    func crash() {
        life.end()
        store.setCommitFault { throw Crashed() }
    }

    /// Lets a number of commits through, and crashes before the next.
    func crashBeforeCommit(after count: Int) {
        let left = Locked(count)
        let life = life
        store.setCommitFault {
            let isDue = left.withLock { left -> Bool in
                left -= 1
                return left < 0
            }
            guard isDue || life.isCrashed else { return }
            life.end()
            throw Crashed()
        }
    }

    /// Ends the process; another one that has its folder can do what it did.
    func end() {
        life.end()
        store.close()
    }

    /// Starts the device again from what is in its folder.
    ///
    /// - Parameters:
    ///   - schema: Another version of the schema; nil if it has the one that it had. With another
    ///     one, no other process may have the folder open.
    ///   - selection: What it exchanges from now on; nil if that is as it was.
    ///   - zone: The zone that its application names from now on; nil if that is as it was.
    ///   - migrations: How many data migrations its application has from now on; nil if that is as it was.
    mutating func reopen(
        _ schema: SimulatedSchema? = nil, selection: SimulatedSelection? = nil,
        zone: ZoneID? = nil, migrations: Int? = nil
    ) throws {
        end()
        home.disk.free()
        if let zone { configuration.zoneName = zone.zoneName }
        self.schema = schema ?? self.schema
        self.selection = selection ?? self.selection
        self.migrations = migrations ?? self.migrations
        configuration.selection = try self.selection.selection(of: self.schema)
        store = try Self.open(home, self.schema, self.migrations)
        home.ledger.forget()
        (engine, connection) = anotherEngine()
        life = ProcessLife(connection)
    }

    /// Another engine on the same store, and what it talks to.
    func anotherEngine() -> (SyncEngine, DeviceConnection) {
        let connection = DeviceConnection(intermediary(service), process: index, home: home)
        connection.setDuringTransfer(duringTransfer)
        return (
            SyncEngine(store: store, service: connection, configuration: configuration), connection
        )
    }

    /// Goes on with another engine. Replies to the last one are dropped.
    mutating func take(_ other: (engine: SyncEngine, connection: DeviceConnection)) {
        life.add(other.connection)
        (engine, connection) = other
    }
}
