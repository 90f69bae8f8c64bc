import Backstitch
import BackstitchHub
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

    struct HubPart: Encodable {
        let healthy: Bool
        let rows: Int
        let records: Int
        let files: Int
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
    let hub: HubPart?
    let repaired: Bool
    let keptAt: String?
    let stoppedWriter: Int32?

    init(
        _ report: RepairReport, _ contents: StoreAssets.Verification?, _ hub: HubDiagnosis?,
        path: String
    ) {
        let diagnosis = report.diagnosis
        store = path
        healthy =
            diagnosis.isHealthy && contents?.isConsistent != false && hub?.isHealthy != false
        remedy = diagnosis.remedy.rawValue
        let messages = DoctorLines.messages(contents)
        findings =
            diagnosis.findings.map { Finding(part: $0.part.rawValue, message: $0.message) }
            + messages.map { Finding(part: "contents", message: $0) }
            + (hub?.findings ?? []).map { Finding(part: "hub", message: $0) }
        findingCount = diagnosis.findingCount + messages.count + (hub?.findings.count ?? 0)
        self.hub = hub.map {
            HubPart(
                healthy: $0.isHealthy, rows: $0.rows, records: $0.records, files: $0.files)
        }
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
