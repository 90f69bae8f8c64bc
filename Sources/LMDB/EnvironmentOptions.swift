/// How an environment is opened. Opening one file twice in a process needs equal options.
package struct EnvironmentOptions: Sendable, Hashable {
    /// What is on disk when a write returns.
    package var durability: Durability = .full
    /// The address space taken at first, in bytes. It costs no memory and no disk, but a process has 128 TiB
    /// only: some 8,000 environments of this size can be open in one at once.
    package var mapBytes: Int = 16 << 30
    /// The map doubles up to this size, in bytes; then writes throw `mapFull`.
    package var mapBytesMax: Int = 16 << 40
    /// The bytes of memory that the file's pages may take, for tests; `nil` for what the system lets the process have.
    var memoryBytes: Int?
    /// The reader slots of the lock file. The first process that opens the file decides.
    package var readersMax = 1024
    /// The names of the databases. They are made with the data file; a file that lacks one of them is a
    /// foreign one, and is not opened.
    package var databases: [String]
    /// Databases that are made while the environment is open; `nil` for none.
    package var family: DatabaseFamily?
    /// Opens an existing environment without ever writing to it.
    ///
    /// If the lock file can't be written either, it can't be opened or read while another process has it
    /// open, and a read that two commits overtake all the same throws `busy`.
    package var isReadOnly = false
    /// Makes small commits of durability `full` with one write to the file `journal` beside the data
    /// file; nil for not. Once there is such a file, all who open the environment look at it.
    package var journal: JournalLimits?
    /// The running system. If it isn't known, no commit goes to the journal.
    package var boot = BootID.current
    /// Creates the folder and the data file if they are missing.
    package var createsIfMissing = true
    /// Opens on a file system that is shared between machines, if locks and maps don't work
    /// reliably. Two machines that do this at the same time destroy the file.
    package var allowsNetworkFileSystem = false

    /// Makes options with default values for all but the names of the databases.
    package init(databases: [String]) {
        self.databases = databases
    }
}
