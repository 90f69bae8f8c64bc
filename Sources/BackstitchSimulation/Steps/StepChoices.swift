import Backstitch
import BackstitchTesting

/// What is chosen within a step: it follows from the step's seed.
final class StepChoices {
    var generator: SeededGenerator
    private(set) var pool: RecordPool
    /// Whether nothing happens while requests of the step are in flight.
    private(set) var isCalm = false
    private let mayBeLarge: Bool

    init(_ script: SimulationScript) {
        generator = SeededGenerator(seed: script.seed)
        pool = RecordPool(seed: script.seed, kinds: script.setting.newestSchema.kinds)
        mayBeLarge = script.setting.mayBeLarge
    }

    func begin(_ step: SimulationStep) {
        generator = SeededGenerator(seed: UInt64(step.seed))
        pool.reach = step.names
        isCalm = step.isCalm
    }

    /// The name of one of the records of a kind.
    func name(_ kind: RecordPool.Kind) -> String { pool.name(kind, &generator) }

    /// A transaction of an application.
    func edit(
        _ schema: SimulatedSchema, mayBeLarge: Bool = true, files: [Asset] = []
    ) -> LocalEdit {
        LocalEdit(
            seed: generator.next(), pool: pool, schema: schema,
            mayBeLarge: mayBeLarge && self.mayBeLarge, files: files)
    }
}
