import CLMDB
import Glibc
import Threading

/// Commits with one sync of a small file, if LMDB needs two of scattered pages.
///
/// LMDB writes a commit to the data file without syncing it, after what the commit changed is in
/// the redo file and on disk. Every so often the data file is synced as a whole; the commit that it
/// has then is the **base**. After a power cut the base is restored and the changes behind it are
/// made again.
///
/// That needs the pages of the base to stay as they are, so a read transaction pins it: LMDB uses
/// pages again only when no reader needs them. What the process wrote is in the system's cache, so
/// that the end of the process, by whatever cause, loses nothing.
///
/// Only one process uses the redo file at a time. One that is about to write and finds it in use by
/// another, living or dead, syncs the data file first and leaves the redo file clean.
///
/// Writes call from the writer thread; a keeper thread syncs the data file meanwhile.
final class Redo: @unchecked Sendable {  // State is behind the monitor; the rest is constant.
    /// As many commits are made without the redo file first: a lone save is not worth pinning.
    static let commitsBefore = 2
    /// The base moves on after so many commits, because pages that they free stay unused.
    static let commitsPerBase = 128

    let pointer: OpaquePointer
    private let folder: Folder
    private let committer: Committer
    private let boot: BootID?
    /// Whether commits of this process may go through the redo file.
    private let isWanted: Bool
    /// The use ends when nothing was written for so long, once or twice.
    static let idleMilliseconds = 100
    let monitor = Monitor()
    var file: RedoFile?
    var active: Active?
    var keeper: SystemThread?
    var isClosing = false
    /// The id of the last commit of this process, and how many it made with no other in between.
    private var lastOwn: UInt64 = 0
    private var streak = 0
    /// Whether the file's blocks are lent to those who free space.
    private var isLent = false
    private var buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RedoRecord.space(RedoBuffer.bytesMax), alignment: 512)
    /// Whether the data file may have lost writes; nothing is committed then.
    private var isLost = false
    /// Makes the environment refuse everything.
    let panic: @Sendable () -> Void

    /// What is true while commits go through the redo file.
    struct Active {
        /// As this process wrote it last. If the file has another, another process took over.
        var header: RedoHeader
        /// The epoch of new records; the header's, or the next while the base is moving.
        var epoch: UInt64
        /// Where the next record goes in the half of the epoch.
        var offset = 0
        /// The commits of the epoch.
        var commits = 0
        /// Whether a commit was made since the keeper looked last.
        var isBusy = true
        /// Reads the base.
        var pin: OpaquePointer
        /// The base that takes over when the data file is synced, and its pin.
        var next: (base: RedoBase, pin: OpaquePointer)?
    }

    init(
        _ pointer: OpaquePointer, _ folder: Folder, _ options: EnvironmentOptions,
        _ committer: Committer, panic: @escaping @Sendable () -> Void
    ) {
        self.pointer = pointer
        self.folder = folder
        self.committer = committer
        boot = options.boot
        isWanted =
            options.usesRedoFile && options.journal == nil && options.durability == .full
            && boot != nil
        self.panic = panic
    }

    deinit { buffer.deallocate() }
}

// MARK: Writing

extension Redo {
    /// Looks at the redo file after a write transaction has begun.
    ///
    /// - Returns: Whether the changes of the transaction are to be recorded.
    /// - Throws: `panicked` if the data file has to be recovered; `io`.
    func begin(_ transaction: OpaquePointer) throws(LMDBError) -> Bool {
        try monitor.inside { () throws(LMDBError) in
            if isLost { throw .panicked }
            if file == nil { file = try RedoFile(in: folder) }
            if let file {
                let header = try file.header()
                if header.state == .mustRecover { throw .panicked }
                if active?.header != header {
                    // Another process wrote meanwhile.
                    endActive()
                    if header.state == .active { try takeOver(file) }
                }
                isLent = if active == nil { try file.isLent } else { false }
            }
            let isNext = UInt64(mdb_txn_id(transaction)) == lastOwn + 1
            // Somebody who knows nothing of the redo file has written.
            if !isNext, active != nil { try retire() }
            streak = isNext ? streak + 1 : 0
            return isWanted && !isLent && streak >= Self.commitsBefore
        }
    }

    /// Commits by the redo file, or as LMDB does if that is not possible.
    ///
    /// - Parameters:
    ///   - changes: What the transaction changed; `nil` if that was not recorded.
    ///   - mayTakeReserve: Whether it may use blocks of the file that are lent.
    /// - Returns: LMDB's status of the commit.
    /// - Throws: If the commit was not tried; the transaction has ended then too.
    func commit(
        _ transaction: OpaquePointer, _ changes: UnsafeRawBufferPointer?, mayTakeReserve: Bool
    ) throws(LMDBError) -> Int32 {
        monitor.enter()
        defer { monitor.leave() }
        let id = UInt64(mdb_txn_id(transaction))
        let place: Place?
        do throws(LMDBError) {
            if isLent, !mayTakeReserve { try file?.finish() }
            place = if let changes { try prepare(changes.count, before: id) } else { nil }
            if let changes, let place {
                try write(changes, place, transaction: id)
            } else if active != nil {
                try retire()
            }
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        let status = place == nil ? committer.commit(transaction) : commitUnsynced(transaction)
        if status == MDB_SUCCESS {
            lastOwn = id
            if place != nil { moveBaseSometimes() }
        } else if let place {
            withdraw(place)
        }
        return status
    }

    /// Where a record goes.
    private struct Place {
        let epoch: UInt64
        let offset: Int
    }

    /// Makes room for a record; `nil` if the redo file can't be used now.
    private func prepare(
        _ changeBytes: Int, before id: UInt64
    ) throws(LMDBError) -> Place? {
        let space = RedoRecord.space(changeBytes)
        if active == nil {
            guard try enter(at: id - 1) else { return nil }
        } else if let current = active, current.offset + space > RedoFile.halfBytes {
            // The other half is free when the base has moved to the start of this one.
            try waitForBase()
            guard try moveBase(to: id - 1) else { return nil }
        }
        guard let active else { return nil }
        return Place(epoch: active.epoch, offset: active.offset)
    }

    /// Begins to use the redo file: the last commit becomes the base.
    private func enter(at id: UInt64) throws(LMDBError) -> Bool {
        guard let file = usableFile() else { return false }
        guard let pin = pin(at: id) else { return false }
        guard let base = try base(at: id) else {
            mdb_txn_abort(pin)
            return false
        }
        let current = try file.header()
        let next = current.next {
            $0.state = .active
            $0.epoch += 1
            $0.boot = boot
            $0.base = base
        }
        do throws(LMDBError) {
            // On disk with the first record; without it nothing was promised.
            try file.locked { () throws(LMDBError) in try file.write(next) }
        } catch {
            mdb_txn_abort(pin)
            // A header that got there all the same makes the base the last commit; the next write
            // ends that.
            guard error.code == .diskFull, try file.header() == current else { throw error }
            streak = 0
            return false
        }
        active = Active(header: next, epoch: next.epoch, pin: pin)
        startKeeper()
        return true
    }

    /// The file with all of its blocks; `nil` if it can't have them now, so that commits do without
    /// until there was another run of them.
    private func usableFile() -> RedoFile? {
        do throws(LMDBError) {
            if let file {
                try file.finish()
            } else {
                file = try RedoFile(makingIn: folder)
            }
            return file
        } catch {
            streak = 0
            return nil
        }
    }

    /// Lets a full disk have what the redo file takes up: the pages of the data file that wait for the
    /// base to move, and its blocks.
    ///
    /// - Parameter lendsReserve: Whether the blocks are for the write that asks.
    /// - Returns: Whether that was something.
    func makeRoom(lendsReserve: Bool) -> Bool {
        do throws(LMDBError) {
            return try monitor.inside { () throws(LMDBError) in
                let hadBase = active != nil
                if hadBase { try retire() }
                streak = 0
                guard lendsReserve else { return hadBase }
                if file == nil { file = try RedoFile(in: folder) }
                let isShorter = try file?.shrink() ?? false
                return hadBase || isShorter
            }
        } catch {
            // What is wrong beside the full disk shows in the next write.
            return false
        }
    }

    private func write(
        _ changes: UnsafeRawBufferPointer, _ place: Place, transaction id: UInt64
    ) throws(LMDBError) {
        let space = RedoRecord.space(changes.count)
        let record = UnsafeMutableRawBufferPointer(rebasing: buffer[..<space])
        RedoRecord.encode(changes, epoch: place.epoch, transaction: id, into: record)
        do throws(LMDBError) {
            try file?.write(
                record: UnsafeRawBufferPointer(record), epoch: place.epoch, at: place.offset)
            try file?.sync()
        } catch {
            // It may be on disk all the same.
            withdraw(place)
            throw error
        }
        active?.offset = place.offset + space
        active?.commits += 1
        active?.isBusy = true
    }

    private func commitUnsynced(_ transaction: OpaquePointer) -> Int32 {
        mdb_env_set_flags(pointer, UInt32(MDB_NOSYNC), 1)
        defer { mdb_env_set_flags(pointer, UInt32(MDB_NOSYNC), 0) }
        return committer.commit(transaction)
    }

    /// Takes back a record whose commit failed, so that a recovery doesn't make it after all.
    private func withdraw(_ place: Place) {
        do throws(LMDBError) {
            try file?.erase(epoch: place.epoch, at: place.offset)
            active?.offset = place.offset
        } catch {
            panic()
        }
    }
}

// MARK: The base

extension Redo {
    private func moveBaseSometimes() {
        guard let current = active, current.next == nil,
            current.commits >= Self.commitsPerBase || current.offset > RedoFile.halfBytes / 4 * 3
        else { return }
        // If that fails, it is tried again after the next commit.
        _ = try? moveBase(to: lastOwn)
    }

    /// Lets the keeper sync the data file, so that a commit becomes the base. Records go to the
    /// next epoch from now on.
    ///
    /// - Returns: Whether it began.
    private func moveBase(to id: UInt64) throws(LMDBError) -> Bool {
        guard let pin = pin(at: id) else { return false }
        guard let base = try base(at: id) else {
            mdb_txn_abort(pin)
            return false
        }
        active?.next = (base, pin)
        active?.epoch += 1
        active?.offset = 0
        active?.commits = 0
        monitor.broadcast()
        return true
    }

    /// Waits until the base has moved if it is moving.
    private func waitForBase() throws(LMDBError) {
        while active?.next != nil { monitor.wait() }
        if isLost { throw .panicked }
    }

    /// Makes the synced base that of the header.
    func adoptBase() throws(LMDBError) {
        guard let file, let current = active, let next = current.next else { return }
        let header = current.header.next {
            $0.base = next.base
            $0.epoch = current.epoch
        }
        let isOurs = try file.locked { () throws(LMDBError) in
            guard try file.header() == current.header else { return false }
            try file.write(header)
            try file.sync()
            return true
        }
        guard isOurs else { return endActive() }
        mdb_txn_abort(current.pin)
        active?.header = header
        active?.pin = next.pin
        active?.next = nil
        monitor.broadcast()
    }

    /// Leaves the redo file clean: the data file needs it no more.
    func retire() throws(LMDBError) {
        try waitForBase()
        guard let file, let current = active else { return }
        try syncData()
        try file.locked { () throws(LMDBError) in
            guard try file.header() == current.header else { return }
            try file.write(current.header.next { $0.state = .clean })
            try file.sync()
        }
        endActive()
    }

    /// Leaves the redo file of another process clean.
    private func takeOver(_ file: RedoFile) throws(LMDBError) {
        try syncData()
        try file.locked { () throws(LMDBError) in
            let header = try file.header()
            guard header.state == .active else { return }
            try file.write(header.next { $0.state = .clean })
            try file.sync()
        }
    }

    /// Syncs the data file. If that fails, the system may have dropped what it couldn't write.
    func syncData() throws(LMDBError) {
        let status = mdb_env_sync(pointer, 1)
        guard status != MDB_SUCCESS else { return }
        dataIsLost()
        throw LMDBError(status: status, "sync '\(folder.dataPath)'")
    }

    /// Notes that the data file has to be recovered, whatever the system says it contains.
    func dataIsLost() {
        try? file?.locked { () throws(LMDBError) in
            guard let file else { return }
            let header = try file.header()
            guard header.state == .active else { return }
            try file.write(header.next { $0.state = .mustRecover })
            try file.sync()
        }
        isLost = true
        panic()
    }

    /// Forgets the active state, as another process took over.
    func endActive() {
        guard let current = active else { return }
        mdb_txn_abort(current.pin)
        if let next = current.next { mdb_txn_abort(next.pin) }
        active = nil
        monitor.broadcast()
    }

    /// A read transaction of a commit, if it is still the last one.
    private func pin(at id: UInt64) -> OpaquePointer? {
        var begun: OpaquePointer?
        guard mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &begun) == MDB_SUCCESS,
            let pin = begun
        else { return nil }
        guard UInt64(mdb_txn_id(pin)) == id else {
            mdb_txn_abort(pin)
            return nil
        }
        return pin
    }

    /// What describes the last commit, read from the data file; `nil` if it is not the last one.
    private func base(at id: UInt64) throws(LMDBError) -> RedoBase? {
        var descriptor: Int32 = -1
        mdb_env_get_fd(pointer, &descriptor)
        let base = try RedoBase(of: DataFile(descriptor: descriptor, path: folder.dataPath))
        return base.transaction == id ? base : nil
    }
}
