import Backstitch
import BackstitchRepair
import Foundation

/// The JSON of `doctor`.
struct DoctorDocument: Encodable {
    struct Finding: Encodable {
        let part: String
        let message: String
    }

    struct Contents: Encodable {
        let checked: Int
        let corrupt: [String]
        let missing: [String]
        let orphans: Int
    }

    let store: String
    let healthy: Bool
    let remedy: String
    let findings: [Finding]
    let findingCount: Int
    let operations: Int
    let rows: Int
    let uniqueViolations: [String]
    let repair: SalvageReport?
    let contents: Contents?
    let repaired: Bool
    let keptAt: String?
    let stoppedWriter: Int32?

    init(_ report: RepairReport, _ contents: StoreAssets.Verification?, path: String) {
        let diagnosis = report.diagnosis
        store = path
        healthy = diagnosis.isHealthy && contents?.isConsistent != false
        remedy = diagnosis.remedy.rawValue
        let messages = DoctorLines.messages(contents)
        findings =
            diagnosis.findings.map { Finding(part: $0.part.rawValue, message: $0.message) }
            + messages.map { Finding(part: "contents", message: $0) }
        findingCount = diagnosis.findingCount + messages.count
        self.contents = contents.map {
            Contents(
                checked: $0.checked, corrupt: $0.corrupt, missing: $0.missing, orphans: $0.orphans)
        }
        operations = diagnosis.operations
        rows = diagnosis.rows
        uniqueViolations = diagnosis.uniqueViolations
        repair = report.salvage
        repaired = report.keptAt != nil
        keptAt = report.keptAt?.path
        stoppedWriter = diagnosis.stoppedWriter
    }
}
