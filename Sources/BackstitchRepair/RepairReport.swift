public import Foundation

/// What a repair did.
public struct RepairReport: Hashable, Sendable {
    /// The diagnosis before the repair.
    public let diagnosis: StoreDiagnosis
    /// What was salvaged; nil if nothing had to be done, or if opening the store was enough.
    public let salvage: SalvageReport?
    /// The folder with the unchanged damaged files; nil if nothing had to be done. Beside them are
    /// `report.json` and `set-aside.jsonl`, a line for each operation that could not be used.
    public let keptAt: URL?

    /// A report by its parts.
    public init(diagnosis: StoreDiagnosis, salvage: SalvageReport?, keptAt: URL?) {
        self.diagnosis = diagnosis
        self.salvage = salvage
        self.keptAt = keptAt
    }
}
