import Backstitch
import BackstitchStore
import LMDB

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
    let bug: PlantedBug?
    /// The version of the schema that its application has.
    private(set) var schema: SimulatedSchema
    private(set) var store: Store
    private(set) var engine: SyncEngine
    private(set) var connection: DeviceConnection
    /// Whether its store belongs to a user.
    var isBound = false
    /// Whether its records were erased after the loss of a zone.
    var hasErased = false
    /// Whether its application had it begin anew, and no round ended well since.
    var isReset = false
    /// Whether its application ever let the local version win.
    var hasPreferredLocal = false
    /// The account of its log as of the last check.
    var account: LogAccount?
    /// Until this step it does not exchange.
    var offlineUntil = 0

    init(
        index: Int, directory: String, service: SimulatedRecordService, clock: DeviceClock,
        configuration: SyncConfiguration, setting: SimulatedDeviceSetting, bug: PlantedBug?
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
        self.bug = bug
        store = try Self.open(directory, schema, clock)
        connection = DeviceConnection(service, bug: bug)
        engine = SyncEngine(store: store, service: connection, configuration: self.configuration)
    }

    static func name(_ index: Int) -> String { "device \(index)" }

    private static func open(
        _ directory: String, _ schema: SimulatedSchema, _ clock: DeviceClock
    ) throws -> Store {
        try Store(
            at: directory, schema: schema.schema,
            configuration: StoreConfiguration(
                durability: .relaxed, bytesMax: 1 << 26, milliseconds: { clock.milliseconds }))
    }

    var isCrashed: Bool { connection.isCrashed }

    /// Ends the device where it stands: nothing is sent or stored any more.
    func crash() {
        connection.crash()
        store.setCommitFault { throw Crashed() }
    }

    /// Lets so many commits through, and crashes before the next.
    func crashBeforeCommit(after count: Int) {
        let left = Locked(count)
        let connection = connection
        store.setCommitFault {
            let isDue = left.withLock { left -> Bool in
                left -= 1
                return left < 0
            }
            guard isDue || connection.isCrashed else { return }
            connection.crash()
            throw Crashed()
        }
    }

    /// Ends the process; another one that has its folder can do what it did.
    func end() {
        connection.crash()
        store.close()
    }

    /// Starts the device again from what is in its folder.
    ///
    /// - Parameters:
    ///   - schema: Another version of the schema; nil where it has the one that it had. With another
    ///     one, no other process may have the folder open.
    ///   - selection: What it exchanges from now on; nil where that is as it was.
    mutating func reopen(
        _ schema: SimulatedSchema? = nil, selection: SimulatedSelection? = nil
    ) throws {
        end()
        self.schema = schema ?? self.schema
        self.selection = selection ?? self.selection
        configuration.selection = try self.selection.selection(of: self.schema)
        store = try Self.open(directory, self.schema, clock)
        connection = DeviceConnection(service, bug: bug)
        engine = SyncEngine(store: store, service: connection, configuration: configuration)
    }
}
