import CLMDB
import Threading

extension Environment {
    /// Runs a closure on a snapshot of the last commit.
    ///
    /// Any thread may call it, also inside another read or write. Writers go on meanwhile, but
    /// pages that they free can't be used again until it returns: copy out what you need.
    ///
    /// - Throws: `closed`, `forked`, `panicked`; `readersFull` if all reader slots are taken;
    ///   `cancelled` by the interruption; `busy` if this process can't write to the lock file, and another
    ///   one has the environment open or wrote meanwhile; or what the closure throws.
    @inlinable
    package func read<R>(
        interruption: ReadInterruption? = nil, _ body: (borrowing ReadTransaction) throws -> R
    ) throws -> R {
        let slot = try beginRead()
        defer { endRead(slot) }
        let access = Access(slot, interruption)
        do {
            let result = try withExtendedLifetime(interruption) {
                try body(ReadTransaction(access))
            }
            try checkRead(slot)
            return result
        } catch {
            // Pages that others changed may have looked like anything.
            try checkRead(slot)
            throw error
        }
    }

    /// Runs a closure in a write transaction and commits it, on the ``writer`` thread only.
    ///
    /// The transaction is aborted if the closure throws. If the map is too small, it is aborted,
    /// the map grows after all reads have ended, and the closure **runs again**: don't count or
    /// collect outside of it. When `write` returns, the commit is as durable as the options say.
    ///
    /// - Throws: `alreadyWriting` inside another write; `other` on another thread; `closed`,
    ///   `forked`, `panicked`; `mapFull` or `diskFull`, which change nothing; `io` if the outcome
    ///   is unknown; `notFoundPath` if the files were removed; or what the closure throws.
    package func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        try checkOpen()
        return try core.write(body)
    }

    /// As ``write(_:)``, in a transaction of LMDB that has all earlier commits: for work on its pages.
    func writeDirectly<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        try checkOpen()
        return try core.write(directly: true, body)
    }

    /// Runs a closure on the ``writer`` thread and returns its result, without blocking a thread.
    ///
    /// - Throws: What the closure throws.
    package func perform<R: Sendable>(
        _ work: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            writer.submit { continuation.resume(with: Result { try work() }) }
        }
    }

    @usableFromInline
    func beginRead() throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot> {
        try checkOpen()
        try core.unlocked?.refuseUsers()
        return try core.beginRead()
    }

    @usableFromInline
    func checkRead(_ slot: UnsafeMutablePointer<ReaderSlot>) throws(LMDBError) {
        try core.checkRead(slot)
    }

    @usableFromInline
    func endRead(_ slot: UnsafeMutablePointer<ReaderSlot>) {
        core.endRead(slot)
    }
}
