import Backstitch
import BackstitchStore
import BackstitchTesting
import Threading

/// One process of a device: its folder, and the store and engine that live until it crashes.
///
/// Several may have the same folder; what is known of a store is kept with the device whose own it is.
struct SimulatedDevice {
    struct Crashed: Error {}

    let index: Int
    let name: String
    let directory: String
    let service: SimulatedRecordService
    let clock: DeviceClock
    private var configuration: SyncConfiguration
    /// What it exchanges.
    private(set) var selection: SimulatedSelection
    let intermediary: @Sendable (any RecordService) -> any RecordService
    /// The version of the schema that its application has.
    private(set) var schema: SimulatedSchema
    private(set) var store: Store
    /// The disk that the store is on.
    let disk: SimulatedDisk
    private(set) var engine: SyncEngine
    private(set) var connection: DeviceConnection
    /// The life of its process, with what all of its engines talk to.
    private var life: ProcessLife
    /// What is seen of the requests of all processes on its store.
    let watch: ExchangeWatch
    /// Whether its store belongs to a user.
    var isBound = false
    /// Whether its records were erased after the loss of a zone.
    var hasErased = false
    /// Whether its application had it begin anew, and no round ended well since.
    var isReset = false
    /// Whether its application ever let the local version win.
    var hasPreferredLocal = false
    /// The operations up to this sequence were dated by another state of its clock.
    var datedThrough: UInt64 = 0
    /// The account of its log as of the last check.
    var account: LogAccount?
    /// Until this step it does not exchange.
    var offlineUntil = 0

    init(
        index: Int, directory: String, service: SimulatedRecordService, clock: DeviceClock,
        configuration: SyncConfiguration, setting: SimulatedDeviceSetting, disk: SimulatedDisk,
        intermediary: @escaping @Sendable (any RecordService) -> any RecordService,
        watch: ExchangeWatch
    ) throws {
        self.index = index
        schema = setting.schema
        selection = setting.selection
        name = Self.name(index)
        self.directory = directory
        self.service = service
        self.clock = clock
        self.configuration = configuration
        self.configuration.selection = try selection.selection(of: schema)
        self.intermediary = intermediary
        self.watch = watch
        self.disk = disk
        store = try Self.open(directory, schema, clock, disk)
        connection = DeviceConnection(intermediary(service), process: index, watch: watch)
        life = ProcessLife(connection)
        engine = SyncEngine(store: store, service: connection, configuration: self.configuration)
    }

    static func name(_ index: Int) -> String { "device \(index)" }

    private static func open(
        _ directory: String, _ schema: SimulatedSchema, _ clock: DeviceClock, _ disk: SimulatedDisk
    ) throws -> Store {
        let store = try Store(
            at: directory, schema: schema.schema,
            configuration: StoreConfiguration(
                durability: .relaxed, bytesMax: 1 << 26, milliseconds: { clock.milliseconds }))
        store.setDiskFault { disk.fault() }
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
        endConnections()
        store.setCommitFault { throw Crashed() }
    }

    /// Lets so many commits through, and crashes before the next.
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
        endConnections()
        store.close()
    }

    private func endConnections() { life.end() }

    /// Starts the device again from what is in its folder.
    ///
    /// - Parameters:
    ///   - schema: Another version of the schema; nil if it has the one that it had. With another
    ///     one, no other process may have the folder open.
    ///   - selection: What it exchanges from now on; nil if that is as it was.
    ///   - zone: The zone that its application names from now on; nil if that is as it was.
    mutating func reopen(
        _ schema: SimulatedSchema? = nil, selection: SimulatedSelection? = nil,
        zone: ZoneID? = nil
    ) throws {
        end()
        disk.free()
        if let zone { configuration.zoneName = zone.zoneName }
        self.schema = schema ?? self.schema
        self.selection = selection ?? self.selection
        configuration.selection = try self.selection.selection(of: self.schema)
        store = try Self.open(directory, self.schema, clock, disk)
        connection = DeviceConnection(intermediary(service), process: index, watch: watch)
        life = ProcessLife(connection)
        engine = SyncEngine(store: store, service: connection, configuration: configuration)
    }

    /// Another engine on the same store, and what it talks to.
    func anotherEngine() -> (SyncEngine, DeviceConnection) {
        let connection = DeviceConnection(intermediary(service), process: index, watch: watch)
        return (
            SyncEngine(store: store, service: connection, configuration: configuration), connection
        )
    }

    /// Goes on with another engine. What the last one has under way is answered to nobody.
    mutating func take(_ other: (engine: SyncEngine, connection: DeviceConnection)) {
        life.add(other.connection)
        (engine, connection) = other
    }
}

/// A process from its start to its end, by which all of its connections end too.
final class ProcessLife: Sendable {
    private struct State {
        var hasEnded = false
        var connections: [DeviceConnection]
    }

    private let state: Locked<State>

    init(_ connection: DeviceConnection) {
        state = Locked(State(connections: [connection]))
    }

    var isCrashed: Bool { state.withLock { $0.hasEnded } }

    /// Another engine of the process has a connection.
    func add(_ connection: DeviceConnection) {
        let hasEnded = state.withLock { state in
            state.connections.append(connection)
            return state.hasEnded
        }
        if hasEnded { connection.crash() }
    }

    func end() {
        let connections = state.withLock { state in
            state.hasEnded = true
            return state.connections
        }
        for connection in connections { connection.crash() }
    }
}
