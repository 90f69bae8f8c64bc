package import BackstitchCore
@_exported public import BackstitchLog
public import Foundation
package import LMDB
import Threading

/// An offline-first store of records.
///
/// Every write is appended as operations to a log, and the tables that reads see follow from the
/// log in the same transaction. A store may be used from any thread and task. Opening the same files
/// again with the same schema and options gives another handle: what one writes, all see.
public final class Store: Sendable {
    package let environment: Environment
    package let databases: Databases
    package let configuration: StoreConfiguration
    /// The entities that the Swift types declare, by type.
    let types: TypeTable
    /// What this has in common with other stores on the same files.
    let shared: SharedState
    /// Whether this may synchronise the store.
    let leaseTable = LeaseTable()
    private let writer: StoreWriter
    /// What goes on in the background after the schema changed.
    let schemaWork = Locked<Task<Void, Never>?>(nil)
    /// The projections of the configuration, and what goes on for them in the background.
    let registered: RegisteredProjections
    let projectionWork = Locked<Task<Void, Never>?>(nil)
    let observers: Observers
    private let number: Int

    init(_ files: OpenFiles) {
        environment = files.environment
        databases = files.databases
        configuration = files.configuration
        types = files.types
        shared = files.shared
        registered = RegisteredProjections(configuration.projections, types: types)
        writer = StoreWriter(files, registered)
        number = shared.feed.addStore(environment)
        observers = Observers(shared.feed, number, environment)
    }

    deinit { close() }

    /// The names and types of everything that is stored.
    package var catalog: Catalog { catalogSnapshot.catalog }

    package var catalogSnapshot: CatalogSnapshot { shared.catalog.snapshot }

    /// The folder of the store; for an in-memory store the path of a folder that no longer exists.
    public var directory: URL { URL(filePath: environment.directory, directoryHint: .isDirectory) }

    /// Closes the store: waits for reads and writes that are under way, ends change streams, and
    /// makes every later call throw `closed`. A store that is released closes itself soon.
    ///
    /// Inside a read of the store it does not wait for that: the files are closed soon after it.
    public func close() {
        schemaWork.withLock { $0?.cancel() }
        projectionWork.withLock { $0?.cancel() }
        if environment.isReading { environment.closeSoon() } else { environment.close() }
        leaseTable.close()
        shared.feed.removeStore(number)
    }

    // MARK: Reading

    /// Reads from a snapshot of the last commit.
    ///
    /// The closure runs at once on the calling thread and sees one moment of the store, however
    /// long it takes. Keep it short: while it runs, the space of deleted data is not used again.
    /// Cancelling the task does not end it; ``asyncRead(_:)`` is for reads that take long.
    ///
    /// - Throws: `closed`; `nestedWrite` inside a write, whose transaction reads; what the closure throws.
    public func read<Result>(
        _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        try read(interruption: nil, footprint: nil, body)
    }

    func read<Result>(
        interruption: ReadInterruption? = nil, footprint: ReadFootprint? = nil,
        _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        try writer.checkReadable()
        do {
            return try environment.read(interruption: interruption) { transaction in
                let reader = TableReader(
                    access: transaction.access, databases: databases,
                    catalog: try shared.catalog.current(transaction.access, databases),
                    threadsMax: configuration.readThreads, footprint: footprint)
                return try body(ReadTransaction(reader: reader, types: types))
            }
        } catch {
            throw StoreError.wrap(error)
        }
    }

    // MARK: Writing

    /// Writes in one transaction, and returns when it is as durable as the configuration says.
    ///
    /// Writes run one after another, on the store's own thread; those that wait share a commit, and
    /// each gets its own result. If the closure throws, nothing of it is kept.
    ///
    /// **The closure may run more than once** before it counts: when the file has to grow, or when
    /// another write of the same commit fails. Change nothing outside of it. It runs in no task: `Task.isCancelled` is false there.
    ///
    /// - Parameters:
    ///   - author: What the operations carry as their author; nil takes the configuration's.
    ///   - context: The purpose of the write, such as a request's id or a reason, in at most 4 KiB.
    ///     It is stored once for the transaction; the log and change sets give it back.
    ///   - isLocalOnly: Whether what the write saves and deletes stays on this device. It is no
    ///     edit to be pushed, and stays until the service has a newer version of the record. A record that the
    ///     service has and that is deleted so is evicted; one that begins so is pushed as a whole
    ///     with its first other edit. One that the service lost is uploaded as it is here, and so is
    ///     one that wins a conflict as a whole; what must never leave the device is an attribute
    ///     that is `.localOnly`. Fails with `unsynced` for records whose changes are still to be
    ///     pushed, and with `alreadyExists` for a new record in the place of an evicted one.
    /// - Throws: what the closure throws; `invalidValue` for an author or a context that is too long;
    ///   `tooLarge` for more operations than
    ///   ``StoreConfiguration/operationsPerWriteMax``; `closed`, `full`, `io` or `outcomeUnknown`.
    @discardableResult
    public func write<Result: Sendable>(
        author: String? = nil, context: String = "", isLocalOnly: Bool = false,
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        try await withWriteContext(
            author: author, context: context, isLocalOnly: isLocalOnly, isBounded: true
        ) { [types] in try body(WriteTransaction(context: $0, types: types)) }
    }

    /// Writes in one transaction from code that is not asynchronous, and waits for it.
    ///
    /// Everything is as in the asynchronous `write`, but for the thread: if no other write is under
    /// way, the closure runs on the calling thread, which spares two changes of threads. If one is,
    /// it runs on the store's own thread after that one, and the calling thread waits.
    ///
    /// - Throws: what the closure throws; `nestedWrite` inside another write or a read of the store.
    @discardableResult
    public func write<Result: Sendable>(
        author: String? = nil, context: String = "", isLocalOnly: Bool = false,
        _ body: @Sendable (borrowing WriteTransaction) throws -> Result
    ) throws -> Result {
        try writer.runAndWait(author, context, isLocalOnly: isLocalOnly) { [types] in
            try body(WriteTransaction(context: $0, types: types))
        }
    }

    /// Writes to the log itself, for the sync engine.
    @discardableResult
    package func withLogWriter<Result: Sendable>(
        author: String? = nil, context: String = "",
        _ body: @escaping @Sendable (LogWriter) throws -> Result
    ) async throws -> Result {
        try await withWriteContext(author: author, context: context) { try body($0.log) }
    }

    /// - Parameter isBounded: Whether the configuration bounds its operations.
    @discardableResult
    func withWriteContext<Result: Sendable>(
        author: String? = nil, context: String = "", isLocalOnly: Bool = false,
        isBounded: Bool = false,
        _ body: @escaping @Sendable (WriteContext) throws -> Result
    ) async throws -> Result {
        try await writer.run(
            author: author, context: context, isLocalOnly: isLocalOnly, isBounded: isBounded, body)
    }

    /// Why commits don't compact the log any more, though the configuration wants it; nil if they
    /// do. Run ``verify(progress:)``, and open the store again once it is in order.
    public var compactionFailure: StoreError? { writer.compactionFailure }

    /// Runs before each commit; an error it throws makes the commit fail. For tests of crashes.
    package func setCommitFault(_ fault: (@Sendable () throws -> Void)?) {
        writer.setFault(fault)
    }

    // MARK: Changes

    /// The changes of every commit from now on, in commit order; none of a closed store.
    ///
    /// Writes of other `Store` objects on the same files are among them, those of other processes
    /// too: they arrive some milliseconds after their commit.
    public func changes() -> ChangeSet.Stream {
        ChangeSet.Stream(mailbox: shared.feed.open(for: number))
    }
}
