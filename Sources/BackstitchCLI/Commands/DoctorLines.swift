import Backstitch
import BackstitchHub
import BackstitchRepair
import Terminal
import Foundation

/// The text of `doctor`.
enum DoctorLines {
    /// The records that are named in each list.
    private static let namesMax = 10

    static func lines(_ report: RepairReport, path: String) -> [String] {
        let diagnosis = report.diagnosis
        var lines: [String] = []
        if let process = diagnosis.stoppedWriter {
            lines.append(
                "Process \(process) is stopped in the middle of a write, and all others wait to write. "
                    + "Continue it (kill -CONT \(process)) or end it; nothing is damaged by that.")
        }
        if diagnosis.isHealthy {
            lines.append(
                "In order: \(diagnosis.operations.counted("operation")), "
                    + "\(diagnosis.rows.counted("row")).")
            lines += self.lines(ofUniqueViolations: diagnosis.uniqueViolations)
            return lines
        }
        lines.append("Damaged:")
        for finding in diagnosis.findings {
            lines.append("  \(finding.part.rawValue): \(finding.message.printable)")
        }
        let hidden = diagnosis.findingCount - diagnosis.findings.count
        if hidden > 0 { lines.append("  and \(hidden) more") }
        guard let salvage = report.salvage else {
            lines.append(
                "The store's catalog is lost, and nothing can be read without it. Restore the store "
                    + "from a backup.")
            return lines
        }
        lines.append(report.keptAt == nil ? "A repair would give:" : "Repaired:")
        lines += self.lines(salvage).map { "  " + $0 }
        if let keptAt = report.keptAt?.path {
            lines.append("The damaged files and a report are at \(keptAt.printable).")
        } else {
            lines.append("To do it: \(About.name) doctor --repair \(path.printable)")
        }
        return lines
    }

    /// The records that share a value of a unique attribute.
    static func lines(ofUniqueViolations violations: [String]) -> [String] {
        guard !violations.isEmpty else { return [] }
        return ["Not unique:"] + violations.map { "  " + $0.printable }
            + [
                "Change or delete all but one of each; until then no other record can get the value."
            ]
    }

    /// What is wrong with the files that records hold.
    static func messages(_ contents: StoreAssets.Verification?) -> [String] {
        guard let contents else { return [] }
        return contents.corrupt.map { "The file \($0) is another content than its name says." }
            + contents.missing.map {
                "The content \($0) is neither here nor known to be on the service, and a record holds it."
            }
    }

    static func lines(_ contents: StoreAssets.Verification?, isRepaired: Bool) -> [String] {
        guard let contents, contents.checked > 0 || !contents.isConsistent else { return [] }
        var lines = ["Files of records: \(contents.checked) compared."]
        lines += messages(contents).prefix(namesMax).map { "  " + $0 }
        if !contents.corrupt.isEmpty {
            lines.append(
                isRepaired
                    ? "What differed was moved to blobs/corrupt, and is downloaded when it is opened."
                    : "A repair moves what differs away, so that it is downloaded again.")
        }
        return lines
    }

    /// What is found of a hub in the folder of a store; nil if the store has to be repaired first.
    static func lines(_ hub: HubDiagnosis?) -> [String] {
        guard let hub else {
            return [
                "The folder also holds a hub, which can be checked only beside an intact store. A "
                    + "repair keeps it with the damaged files."
            ]
        }
        let counts = "\(hub.records.counted("record")), \(hub.files.counted("file"))"
        guard !hub.isHealthy else {
            return [
                "The folder also holds a hub (\(counts)), and nothing is wrong with it. A hub needs a "
                    + "folder of its own."
            ]
        }
        return ["The folder also holds a hub that is damaged (\(counts)):"]
            + hub.findings.map { "  " + $0.printable }
    }

    private static func lines(_ salvage: SalvageReport) -> [String] {
        var lines = ["\(salvage.operationsKept.counted("operation")) as they were"]
        if salvage.losesNothing { lines.append("nothing is lost") }
        if salvage.mayLackCommits {
            lines.append(
                "commits that only the journal had may be lost, and their number is not known; the "
                    + "right journal, or a backup, may have them")
        }
        if salvage.missingCount > 0 {
            lines.append(
                "missing or damaged operations: \(salvage.missingCount) "
                    + "(\(list(salvage.missingSequences)))")
        }
        if salvage.operationsSetAside > 0 {
            lines.append(
                "\(salvage.operationsSetAside.counted("operation")) set aside, whose effects rows "
                    + "tell or which can't be used")
        }
        func add(_ what: String, _ records: SalvageReport.Records) {
            guard records.count > 0 else { return }
            lines.append("\(what): \(records.count) (\(list(records.names)))")
        }
        add("records as they were last, without a part of their past", salvage.recordsCurrent)
        add("records in an older state", salvage.recordsOlder)
        add("lost records", salvage.recordsLost)
        add("records whose unsynced changes are lost or pushed as a whole", salvage.editsLost)
        if !salvage.metaDropped.isEmpty {
            lines.append("made anew: \(list(salvage.metaDropped))")
        }
        if salvage.fetchesAll { lines.append("the next sync fetches everything") }
        return lines
    }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(namesMax).map(\.printable).joined(separator: ", ")
        return names.count > namesMax ? shown + ", …" : shown
    }
}
