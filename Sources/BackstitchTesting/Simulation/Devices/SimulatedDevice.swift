import Backstitch
import BackstitchStore
import LMDB

/// One device: its folder, and the store and engine that live until it crashes.
struct SimulatedDevice {
    struct Crashed: Error {}

    let index: Int
    let name: String
    let directory: String
    let service: SimulatedRecordService
    let clock: DeviceClock
    let configuration: SyncConfiguration
    let bug: PlantedBug?
    private(set) var store: Store
    private(set) var engine: SyncEngine
    private(set) var connection: DeviceConnection
    /// Whether its store belongs to a user.
    var isBound = false
    /// Whether its records were erased after the loss of a zone.
    var hasErased = false
    /// The account of its log as of the last check.
    var account: LogAccount?
    /// Until this step it does not exchange.
    var offlineUntil = 0

    init(
        index: Int, directory: String, service: SimulatedRecordService, clock: DeviceClock,
        configuration: SyncConfiguration, bug: PlantedBug?
    ) throws {
        self.index = index
        name = Self.name(index)
        self.directory = directory
        self.service = service
        self.clock = clock
        self.configuration = configuration
        self.bug = bug
        store = try Self.open(directory, clock)
        connection = DeviceConnection(service, bug: bug)
        engine = SyncEngine(store: store, service: connection, configuration: configuration)
    }

    static func name(_ index: Int) -> String { "device \(index)" }

    private static func open(_ directory: String, _ clock: DeviceClock) throws -> Store {
        try Store(
            at: directory, schema: RecordPool.schema,
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

    /// Starts the device again from what is in its folder.
    mutating func reopen() throws {
        connection.crash()
        store.close()
        store = try Self.open(directory, clock)
        connection = DeviceConnection(service, bug: bug)
        engine = SyncEngine(store: store, service: connection, configuration: configuration)
    }
}
