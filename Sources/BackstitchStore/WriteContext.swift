import BackstitchCore
package import BackstitchLog
import LMDB

/// What the writes of one commit share: the log, what they have to keep unique, and the views that
/// follow in the same transaction.
package final class WriteContext {
    package let log: LogWriter
    let projections: ProjectionWriter
    private var uniques = UniqueCheck()
    private let contents: ContentFolder

    init(
        access: Access, databases: Databases, configuration: StoreConfiguration,
        catalog: CatalogSnapshot, contents: ContentFolder
    ) throws {
        log = try LogWriter(
            access: access, databases: databases, settings: LogWriter.Settings(configuration),
            catalog: catalog)
        projections = ProjectionWriter(log)
        self.contents = contents
        log.checkAsset = { [unowned log] in try ContentNotes(log).check($0, in: contents) }
    }

    /// Starts the next write of the commit.
    func begin(_ job: WriteJob) {
        log.begin(
            author: job.author, context: job.context, isLocalOnly: job.isLocalOnly,
            isBounded: job.isBounded)
        uniques = UniqueCheck()
    }

    /// Has the bytes of the external attributes that the log is about to name be on disk.
    func keepExternal() throws {
        let external = log.fields.writer.external
        let known = Set(external.known.values.map(\.content))
        for (content, bytes) in external.values {
            guard let hash = ContentHash.bytes(content) else { continue }
            let key = ContentKey(hash: hash)
            // One that the record had before waits for the disk no more.
            if known.contains(content), contents.holds(key) { continue }
            try contents.keep(bytes, as: key)
        }
    }

    /// Notes that the running write saved a record with the changes that the log holds.
    func noteUniques(of entity: EntityNumber, _ key: RecordKey, isNew: Bool) {
        uniques.note(entity, key, isNew: isNew, in: log)
    }

    /// Runs a part of the running write; if it throws, the write goes on as if the part had not run.
    func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        let outer = uniques
        uniques = UniqueCheck()
        let views = projections.inline
        do {
            let result = try log.savepoint(body)
            uniques = outer.joined(with: uniques)
            return result
        } catch {
            uniques = outer
            projections.inline = views
            throw error
        }
    }

    /// Refuses the running write if it may not end like this.
    func checkUniques() throws { try uniques.check(log.reader) }

    /// Writes what is shared by the writes of a commit, once they have all run.
    func finish() throws {
        try projections.noteProgress()
        try log.finish()
    }
}

extension LogWriter.Settings {
    init(_ configuration: StoreConfiguration) {
        self.init(
            author: configuration.author,
            milliseconds: { [clock = configuration.clock] in clock.milliseconds },
            operationsPerWriteMax: configuration.operationsPerWriteMax,
            bytesPerWriteMax: configuration.bytesPerWriteMax,
            recordLimit: configuration.monitor != nil || configuration.refusesLargeRecords
                ? RecordSizeLimit(
                    bytes: configuration.recordBytesMax,
                    refusesLarger: configuration.refusesLargeRecords) : nil)
    }
}
