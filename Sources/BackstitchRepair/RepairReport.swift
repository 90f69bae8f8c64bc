/// What a repair did.
public struct RepairReport: Hashable, Sendable {
    /// What was wrong.
    public let diagnosis: StoreDiagnosis
    /// What was kept; nil if nothing had to be done, or opening the store was all.
    public let salvage: SalvageReport?
    /// Where the damaged files are, as they were; nil if nothing had to be done. Beside them are
    /// `report.json` and `set-aside.jsonl`, a line for each operation that could not be used.
    public let keptAt: String?

    /// A report by its parts.
    public init(diagnosis: StoreDiagnosis, salvage: SalvageReport?, keptAt: String?) {
        self.diagnosis = diagnosis
        self.salvage = salvage
        self.keptAt = keptAt
    }
}
