import Backstitch
import BackstitchRepair
import Foundation

/// The JSON of `doctor`.
struct DoctorDocument: Encodable {
    struct Finding: Encodable {
        let part: String
        let message: String
    }

    let store: String
    let healthy: Bool
    let remedy: String
    let findings: [Finding]
    let findingCount: Int
    let operations: Int
    let rows: Int
    let repair: SalvageReport?
    let repaired: Bool
    let keptAt: String?
    let stoppedWriter: Int32?

    init(_ report: RepairReport, path: String) {
        let diagnosis = report.diagnosis
        store = path
        healthy = diagnosis.isHealthy
        remedy = diagnosis.remedy.rawValue
        findings = diagnosis.findings.map {
            Finding(part: $0.part.rawValue, message: $0.message)
        }
        findingCount = diagnosis.findingCount
        operations = diagnosis.operations
        rows = diagnosis.rows
        repair = report.salvage
        repaired = report.keptAt != nil
        keptAt = report.keptAt?.path
        stoppedWriter = diagnosis.stoppedWriter
    }
}
