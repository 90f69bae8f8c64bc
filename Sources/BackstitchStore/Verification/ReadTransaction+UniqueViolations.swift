public import BackstitchCore
import BackstitchLog

extension ReadTransaction {
    /// The records that share a value of a unique attribute, in groups by `Entity.attribute`, such as
    /// `Person.email`; empty if there are none.
    ///
    /// They were there before the attribute became unique, or met in a pull that is not at its end. They can be read,
    /// changed and deleted, but a write that saves such a value once more fails with `notUnique`. Change or delete all
    /// but one of each group.
    ///
    /// - Parameter limit: About the most groups of each attribute.
    /// - Throws: `io`; `damaged` if a row or an index entry can't be read.
    /// - Complexity: O(*n*) in the records of entities that have unique attributes.
    public func uniqueViolations(limit: Int = 100) throws -> [String: [[RecordID]]] {
        try UniqueValue.violations(in: reader, limit: limit)
    }
}

extension VerificationReport {
    /// Notes the records that share a value of a unique attribute.
    mutating func noteUniqueViolations(_ reader: TableReader) throws {
        let violations = try UniqueValue.violations(in: reader, limit: Self.problemsMax)
        for (attribute, groups) in violations.sorted(by: { $0.key < $1.key }) {
            for group in groups where uniqueViolations.count < Self.problemsMax {
                let names = group.prefix(20).map(\.key.description).joined(separator: ", ")
                uniqueViolations.append(
                    "\(attribute) is unique, and these records share a value: \(names)"
                        + (group.count > 20 ? " and others." : "."))
            }
        }
    }
}
