import BackstitchCore
package import BackstitchLog
import LMDB

/// What the writes of one commit share: the log, what they have to keep unique, and the views that
/// follow in the same transaction.
package final class WriteContext {
    package let log: LogWriter
    let projections: ProjectionWriter
    private var uniques = UniqueCheck()

    init(
        access: Access, databases: Databases, configuration: StoreConfiguration,
        catalog: CatalogSnapshot, contents: ContentFolder
    ) throws {
        log = try LogWriter(
            access: access, databases: databases, settings: LogWriter.Settings(configuration),
            catalog: catalog)
        projections = ProjectionWriter(log)
        log.checkAsset = { [unowned log] asset in try log.check(asset, contents) }
    }

    /// Starts the next write of the commit.
    func begin(_ job: WriteJob) {
        log.begin(
            author: job.author, context: job.context, isLocalOnly: job.isLocalOnly,
            isBounded: job.isBounded)
        uniques = UniqueCheck()
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

extension LogWriter {
    /// Refuses a file whose content nobody has: a record would be saved that nobody can open.
    fileprivate func check(_ asset: Asset, _ contents: ContentFolder) throws {
        guard asset.serviceChecksum == nil, let content = ContentKey(asset),
            !contents.holds(content),
            try !ContentStanding(content, reader).isReferenced
        else { return }
        throw StoreError(
            .assetMissing,
            "A record is to hold a file whose content this store does not have. Add it with "
                + "store.assets.add, and save the record within an hour.")
    }
}

extension LogWriter.Settings {
    init(_ configuration: StoreConfiguration) {
        self.init(
            author: configuration.author,
            milliseconds: { [clock = configuration.clock] in clock.milliseconds },
            operationsPerWriteMax: configuration.operationsPerWriteMax,
            bytesPerWriteMax: configuration.bytesPerWriteMax)
    }
}
