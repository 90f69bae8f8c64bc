import BackstitchCore
import BackstitchLog
import BackstitchStore
import LMDB
import Threading

/// Looks at the files of a store that may be damaged, and makes another one of what is intact.
enum StoreExamination {
    /// How far the damage goes.
    struct DamageExtent {
        var isLogWhole = true
        var areRowsWhole = true
        var isMetaWhole = true
        /// Whether the commit that was looked at is surely the last one.
        var isLastCommit = true
        /// Whether the journal is missing, damaged or not to be joined to the data file any more, and
        /// with it commits that nothing else tells of.
        var mayLackCommits = false
        /// The operations that the log says it has.
        var operations = 0
    }

    static func examine(
        _ directory: String, _ configuration: StoreConfiguration,
        _ progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) throws -> (StoreDiagnosis, DamageExtent) {
        var check = ContentCheck()
        let inspection = try inspect(directory, begin: { check = ContentCheck() }) {
            check.add($0)
        }
        check.finish()
        if let newerFormat = check.newerFormat { throw newerFormat }
        check.checkTrees { inspection.entries[$0] != nil }
        var diagnosis = check.diagnosis
        for problem in inspection.problems {
            diagnosis.note(StoreDiagnosis.Part(problem.part), problem.described)
        }
        var extent = DamageExtent(inspection, check)
        extent.isMetaWhole = !diagnosis.findings.contains { $0.part == .meta }
        if diagnosis.isHealthy {
            do {
                try verify(directory, configuration, &diagnosis, &extent, progress)
            } catch let error as StoreError where error.code == .damaged {
                diagnosis.note(.file, error.message)
                extent.isLogWhole = false
            }
        }
        guard !diagnosis.isHealthy else { return (diagnosis, extent) }
        diagnosis.remedy = extent.isLogWhole ? .rebuild : .salvage
        return (diagnosis, extent)
    }

    private static func inspect(
        _ directory: String, scansLoosePages: Bool = false, begin: () throws -> Void,
        _ visit: (FileEntry) throws -> Void
    ) throws -> FileInspection {
        try EnvironmentFiles(at: directory).inspect(
            names: Databases.names, family: Databases.rows, scansLoosePages: scansLoosePages,
            begin: begin, visit)
    }

    /// Opens a file whose pages are in order, and compares log and tables.
    private static func verify(
        _ directory: String, _ configuration: StoreConfiguration, _ diagnosis: inout StoreDiagnosis,
        _ extent: inout DamageExtent,
        _ progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) throws {
        let store = try Store.open(existing: directory, configuration: configuration)
        defer { store.close() }
        let report = try store.verify(progress: progress)
        for problem in report.problems {
            diagnosis.note(report.isLogDamaged ? .log : .tables, problem)
        }
        diagnosis.uniqueViolations = report.uniqueViolations
        if report.isLogDamaged { extent.isLogWhole = false }
    }

    /// Makes a store from what is intact, in an environment that is empty.
    static func salvage(
        _ directory: String, _ damage: DamageExtent, into target: Environment,
        _ progress: @escaping @Sendable (Int) -> Void = { _ in },
        setAside: @escaping SalvageBuilder.SetAside
    ) throws -> SalvageReport {
        let scratch = try Environment.temporary(
            options: EnvironmentOptions(databases: SalvageSource.Place.names))
        defer { scratch.close() }
        let extent = try collect(directory, damage, in: scratch)
        let databases = try Databases(target)
        let places = try SalvageSource.Place.names.map { try scratch.database($0) }
        return try target.writer.submitAndWait {
            try target.write { transaction in
                try scratch.read { collected in
                    let builder = try unsafe SalvageBuilder.make(
                        collected.access, places, to: transaction.access, databases, extent,
                        setAside: setAside)
                    try builder.build(progress)
                    var report = builder.report
                    report.mayLackCommits = damage.mayLackCommits
                    return report
                }
            }
        }
    }

    private static func collect(
        _ directory: String, _ damage: DamageExtent, in scratch: Environment
    ) throws -> SalvageBuilder.Extent {
        try scratch.writer.submitAndWait {
            try scratch.write { transaction in
                let source = try SalvageSource(transaction.access, in: scratch)
                return try collect(directory, damage, into: source)
            }
        }
    }

    /// Collects what is intact.
    private static func collect(
        _ directory: String, _ damage: DamageExtent, into empty: SalvageSource
    ) throws -> SalvageBuilder.Extent {
        var source = empty
        if !damage.areRowsWhole { source.missRows() }
        _ = try inspect(directory, begin: { try empty.clear() }) { try source.add($0) }
        if !damage.isLogWhole {
            if damage.isLastCommit, damage.areRowsWhole {
                source.boundLoosePages(to: UInt64(max(0, damage.operations)))
            } else {
                source.trustLoosePages()
            }
        }
        if !damage.isLogWhole || !damage.isMetaWhole {
            _ = try inspect(directory, scansLoosePages: true, begin: {}) { entry in
                if entry.place == .loosePage { try source.add(entry) }
            }
        }
        return SalvageBuilder.Extent(
            isLogWhole: damage.isLogWhole, areRowsWhole: source.areRowsWhole,
            lastSequence: source.lastSequence, looseCatalogs: source.looseCatalogs)
    }
}

extension StoreExamination.DamageExtent {
    fileprivate init(_ inspection: FileInspection, _ check: ContentCheck) {
        let parts = inspection.damagedParts
        mayLackCommits = parts.contains(.journal) || !inspection.knowsWaitingRecords
        // With the journal, the last commits are damaged or lost.
        isLastCommit = inspection.isLastCommit && !parts.contains(.journal)
        let canBeReached =
            isLastCommit && inspection.transaction != nil && !parts.contains(.databases)
            && (!inspection.hasWaitingRecords || inspection.isSound)
        isLogWhole =
            canBeReached && !parts.contains(.database("log")) && !check.isLogDamaged
        areRowsWhole =
            canBeReached && !parts.contains(.database("tables")) && !check.areRowsDamaged
            && !parts.contains(where: \.isOfRows)
        if !parts.contains(.database("log")) { operations = inspection.entries["log"] ?? 0 }
    }
}

extension StoreDiagnosis.Part {
    fileprivate init(_ part: FileInspection.Part) {
        switch part {
        case .meta, .freePages, .databases: self = .file
        case .database("log"): self = .log
        case .database("tables"): self = .tables
        case let part where part.isOfRows: self = .tables
        case .database("meta"): self = .meta
        case .database: self = .file
        case .journal: self = .journal
        }
    }
}

extension FileInspection.Part {
    /// Whether it is the tree of an entity's rows.
    fileprivate var isOfRows: Bool {
        guard case .database(let name) = self else { return false }
        return name.hasPrefix(Databases.rows.prefix)
    }
}

extension FileInspection.Problem {
    /// The problem with its place.
    fileprivate var described: String {
        switch part {
        case .meta, .journal: message
        case .freePages: "List of free pages: \(message)"
        case .databases: "List of databases: \(message)"
        case .database(let name): "Database \(name): \(message)"
        }
    }
}
