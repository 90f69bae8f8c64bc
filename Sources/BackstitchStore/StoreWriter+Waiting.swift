import BackstitchLog
import LMDB
import Threading

extension StoreWriter {
    /// Throws `nestedWrite` inside a write.
    func checkReadable() throws {
        guard environment.writer.isCurrent else { return }
        throw StoreError(
            .nestedWrite,
            "A read inside a write would see the store as it was before. Use the transaction "
                + "you have.")
    }

    /// Performs a write while the caller waits.
    ///
    /// - Throws: what the closure throws; `nestedWrite` inside another write or a read of the store.
    func runAndWait<Result: Sendable>(
        _ author: String?, _ context: String, isLocalOnly: Bool,
        _ body: @Sendable (WriteContext) throws -> Result
    ) throws -> Result {
        if environment.writer.isCurrent {
            throw StoreError(
                .nestedWrite,
                "A write can't begin inside another write. Use the transaction you have.")
        }
        if environment.isReading {
            throw StoreError(
                .nestedWrite,
                "A read can't wait for a write. End the read, then write.")
        }
        try WriteJob.check(author, context)
        return try withoutActuallyEscaping(body) { body in
            let call = BlockingCall { (context: WriteContext) in try body(context) }
            let job = WriteJob(
                author: author, context: context, isLocalOnly: isLocalOnly,
                run: { try call.perform($0) },
                finish: { error in call.end(error.map { .failure($0) } ?? .success(())) })
            submit(job, waits: true)
            return try call.wait()
        }
    }
}
