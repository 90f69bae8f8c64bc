import BackstitchCore

extension StoreError {
    /// Says of which operation something is wrong.
    package static func describingDamage<Result>(
        at sequence: UInt64, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as OperationDamage {
            throw StoreError(
                .damaged, "Operation \(sequence) of the log can't be read: \(error). Run verify.")
        } catch let error as FieldError {
            throw StoreError(
                .damaged, "Operation \(sequence) of the log can't be read: of a field, \(error).")
        }
    }
}
