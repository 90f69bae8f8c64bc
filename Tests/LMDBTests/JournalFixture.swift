import Foundation
import Threading

@testable import LMDB

extension JournalLimits {
    /// Those of stores, but that no pause has the records applied: a busy machine makes one anywhere.
    static var withoutPauses: JournalLimits {
        var limits = JournalLimits()
        limits.idleMilliseconds = 3_600_000
        return limits
    }

    /// Every commit that fits becomes a record, in a small file.
    static func eager(
        apply records: Int = 7, inBackground: Bool = false, halfBytes: Int = halfBytesMin
    ) -> JournalLimits {
        var limits = JournalLimits()
        limits.commitsBefore = 0
        limits.freeBytesMin = 0
        limits.halfBytes = halfBytes
        limits.recordsPerApplication = records
        limits.appliesInBackground = inBackground
        return limits
    }
}

extension Fixture {
    var journalPath: String { store + "/journal" }

    func openJournaled(
        _ limits: JournalLimits? = .eager(), at path: String? = nil,
        _ change: (inout EnvironmentOptions) -> Void = { _ in }
    ) throws -> Environment {
        try Environment.open(
            at: path ?? store,
            options: Self.options {
                $0.journal = limits
                change(&$0)
            })
    }

    /// Copies the folder as another process sees it, to be opened as if this one had been killed.
    func copyAsKilled(to name: String = "killed") throws -> String {
        let path = root + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for file in ["data.mdb", "journal"] {
            let from = store + "/" + file
            guard FileManager.default.fileExists(atPath: from) else { continue }
            try Data(contentsOf: URL(fileURLWithPath: from)).write(
                to: URL(fileURLWithPath: path + "/" + file))
        }
        return path
    }
}

extension Environment {
    /// How many records wait.
    var waitingRecords: Int {
        guard let journal = core.journal else { return 0 }
        return journal.monitor.inside { journal.known.map { Int($0.top - $0.base) } ?? 0 }
    }

    /// The id of the last transaction of the data file.
    var lastTransaction: UInt64 { get throws { try info.lastTransaction } }

    func applyJournal() throws {
        try writer.submitAndWait { try core.journal?.apply() }
    }
}
