import BackstitchCore
import BackstitchLog
import Foundation
import LMDB
import Threading

/// Opens the files of stores, and brings those of an older format to the present one.
struct StoreFiles {
    private let directory: String
    private let options: EnvironmentOptions
    private let configuration: StoreConfiguration

    init(
        _ directory: String, _ options: EnvironmentOptions, _ configuration: StoreConfiguration
    ) {
        (self.directory, self.options, self.configuration) = (directory, options, configuration)
    }

    /// How often a step is tried while others hold it up: who migrates the store, and who has opened it only
    /// to see that it has to be migrated.
    private static let attemptsMax = 40
    private static let millisecondsBetween = 50
    /// Held by the store that migrates, so that stores of this process do it one after another.
    private static let turn = NSLock()

    /// Opens the environment; one of an older format is migrated first.
    ///
    /// - Throws: `olderFormat` if it may only be read; `busy` if another process has it open, which keeps
    ///   it as it is; `full`; what opening throws. Nothing is changed then.
    func open() throws -> Environment {
        let format = peekedFormat
        if let format, format >= Catalog.formatVersion { return try openFiles() }
        if let format, options.isReadOnly { throw StoreError.olderFormat(format, directory) }
        Self.turn.lock()
        defer { Self.turn.unlock() }
        if format != nil {
            do {
                try Self.repeating([.busy, .beingReplaced]) { try migrate() }
            } catch let error as LMDBError where error.code == .busy {
                throw isInUse(error)
            }
        }
        let environment = try openFiles()
        do {
            // What could not be told before, because others wrote all the time.
            guard let format = try self.format(of: environment), format < Catalog.formatVersion
            else { return environment }
            throw options.isReadOnly ? StoreError.olderFormat(format, directory) : isInUse(nil)
        } catch {
            environment.close()
            throw error
        }
    }

    private func isInUse(_ cause: LMDBError?) -> StoreError {
        StoreError(
            .busy,
            "The store at '\(directory)' has an older format. To be brought to format "
                + "\(Catalog.formatVersion) it must not be open anywhere else: "
                + (cause?.message ?? "Another process writes to it. End that, then try again."),
            cause: cause)
    }

    private func openFiles() throws -> Environment {
        try Self.repeating([.beingReplaced]) {
            try Environment.open(at: directory, options: options)
        }
    }

    /// Tries again for a while if it fails with one of the codes.
    private static func repeating<Result>(
        _ codes: Set<LMDBError.Code>, _ body: () throws -> Result
    ) throws -> Result {
        for _ in 1..<attemptsMax {
            do {
                return try body()
            } catch let error as LMDBError where codes.contains(error.code) {
                let monitor = Monitor()
                monitor.inside { _ = monitor.wait(milliseconds: millisecondsBetween) }
            }
        }
        return try body()
    }

    /// The version of the format, read before anything is written; nil if that can't be told, or if this
    /// process has the store open.
    private var peekedFormat: Int? {
        let files = EnvironmentFiles(at: directory)
        guard files.hasData else { return nil }
        var reading = options
        reading.isReadOnly = true
        let bytes = try? files.peek(
            options: reading, database: Databases.names[Databases.metaIndex], key: MetaName.catalog)
        return bytes.flatMap { $0 }.flatMap { CatalogCoding.formatVersion(of: $0) }
    }

    /// The version of the format that a store has; nil if it has no catalog yet.
    private func format(of environment: Environment) throws -> Int? {
        let databases = try Databases(environment)
        return try environment.read { try Catalog.stored($0.access, databases)?.formatVersion }
    }

    private func migrate() throws {
        var reading = options
        reading.isReadOnly = true
        let environment: Environment
        do throws(LMDBError) {
            environment = try Environment.open(at: directory, options: reading)
        } catch {
            // A store of this process has migrated it, and has it open.
            guard error.code == .differentOptions else { throw error }
            return
        }
        let databases = try Databases(environment)
        let found = Result { try environment.read { try Catalog.stored($0.access, databases) } }
        environment.close()
        // Another store of this process may have done it.
        guard let catalog = try found.get(), catalog.formatVersion < Catalog.formatVersion else {
            return
        }
        let start = configuration.clock.now
        let migration = try FormatMigration(catalog)
        let monitor = configuration.monitor
        let clock = configuration.clock
        let format = catalog.formatVersion
        let entries = Locked(0)
        let change = FileRewrite.Change(
            memberCount: catalog.entities.count,
            progress: { done, total in
                entries.withLock { $0 = total }
                monitor?(
                    MonitorEvent(
                        "store.migrating", date: clock.now, since: start,
                        counts: ["entries": done, "total": total]))
            },
            entry: migration.change)
        try FileRewrite(of: directory, options: options, change: change).run()
        monitor?(
            MonitorEvent(
                "store.migrated", date: clock.now, since: start,
                counts: [
                    "entries": entries.withLock { $0 }, "from": format,
                    "to": Catalog.formatVersion,
                ]))
    }
}

/// What becomes of the entries of a store of format 1.
private struct FormatMigration: Sendable {
    private let catalog: [UInt8]
    private let entityCount: Int

    init(_ old: Catalog) throws {
        var new = old
        new.formatVersion = Catalog.formatVersion
        catalog = try CatalogCoding.encode(new)
        entityCount = old.entities.count
    }

    /// Moves a row to the tree of its entity, and puts the new catalog in the place of the old one. What
    /// is damaged stays as it is, to be found and mended afterwards as before.
    @Sendable func change(_ database: String, _ entry: inout FileRewrite.Entry) throws {
        switch database {
        case Databases.names[Databases.tablesIndex]: try changeRow(&entry)
        case Databases.names[Databases.metaIndex]: changeCatalog(&entry)
        default: break
        }
    }

    private func changeRow(_ entry: inout FileRewrite.Entry) throws {
        guard entry.key.first == TableKey.rows else { return }
        let place = unsafe entry.key.withUnsafeBytes { key in
            unsafe TableKey.isRow(key) ? Int(TableKey.entity(of: key).rawValue) : 0
        }
        guard (1...max(1, entityCount)).contains(place), entityCount > 0 else {
            throw StoreError(
                .damaged,
                "The store has a row of an entity that its catalog lacks, and can't be brought to "
                    + "format \(Catalog.formatVersion). Run 'backstitch doctor' on it.")
        }
        entry.value = RowView.renewed(entry.value, at: entry.key) ?? entry.value
        entry.key.removeFirst(TableKey.rowPrefixByteCount)
        entry.member = place
    }

    private func changeCatalog(_ entry: inout FileRewrite.Entry) {
        for name in [MetaName.catalog, MetaName.catalogCopy] {
            if entry.key.elementsEqual(name.utf8) { entry.value = catalog }
            if entry.key.elementsEqual(MetaChecksum.name(of: name).utf8) {
                entry.value = MetaChecksum.bytes(of: catalog, named: name)
            }
        }
    }
}

extension RowView {
    /// A row of an older version in the present one; nil for bytes that are no intact row.
    fileprivate static func renewed(_ bytes: [UInt8], at key: [UInt8]) -> [UInt8]? {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe key.withUnsafeBytes { key in
                guard let row = unsafe RowView(bytes), unsafe row.isIntact(at: key) else {
                    return nil
                }
                var output = ByteBuffer(capacity: bytes.count + 16)
                var writer = _FieldWriter()
                row.header.append(to: &output)
                do {
                    try unsafe writer.rewrite(row.bodyBytes, into: &output)
                } catch {
                    return nil
                }
                unsafe appendChecksum(at: key, to: &output)
                return unsafe Array(output.bytes)
            }
        }
    }
}

extension StoreError {
    /// A store of an older format that may only be read.
    static func olderFormat(_ format: Int, _ directory: String) -> StoreError {
        StoreError(
            .olderFormat,
            "The store at '\(directory)' has format \(format), and has to be brought to format "
                + "\(Catalog.formatVersion) before it is read. Open it once for writing: run the "
                + "program that it belongs to, or 'backstitch rebuild' on it.")
    }
}
