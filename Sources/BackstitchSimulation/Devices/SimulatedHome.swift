import Backstitch
import BackstitchCore
import BackstitchStore

/// Where a device has its store, and what is known of that store, whichever process uses it.
final class SimulatedHome {
    /// The device whose own it is.
    let index: Int
    let directory: String
    let clock: DeviceClock
    let disk = SimulatedDisk()
    /// What is seen of the requests of all processes on the store.
    let watch = ExchangeWatch()
    /// What is seen of the data migrations that its processes make.
    let migrations = SimulatedMigrations()
    /// Whether the store belongs to a user.
    var isBound = false
    /// Whether its records were erased after the loss of a zone.
    var hasErased = false
    /// Whether an application had it begin anew, and no round ended well since.
    var isReset = false
    /// Whether an application ever let the local version win.
    var hasPreferredLocal = false
    /// The operations up to this sequence were dated by another state of the clock.
    var datedThrough: UInt64 = 0
    /// The account of the log as of the last check.
    var account: LogAccount?
    /// What is seen of the uploads of all processes on the store.
    let ledger = FileLedger()
    /// The hashes of the contents that were here at the last check.
    var contents: Set<String> = []
    /// Files that were added and that no record holds yet.
    var added: [Asset] = []
    /// Files that are open, with the hashes of their contents.
    var readers: [(reader: AssetReader, content: String)] = []

    init(_ index: Int, directory: String, clock: DeviceClock) {
        self.index = index
        self.directory = directory
        self.clock = clock
    }

    var name: String { SimulatedDevice.name(index) }
}
