/// What a planner that counts goes by.
package struct PlanningCosts: Sendable {
    /// How many rows of a scan take the time of one row that is found by its key (from a profile: 600 ns
    /// against 75 ns, with the entry of the index and a condition).
    package var rowCostInScannedRows = 8
    /// The bound that counting begins with; fewer entries are read without asking further.
    package var firstBound = 64
    /// From this count on, the rows of the entity are counted too, for a scan may be faster. Below,
    /// counting them takes as long as reading what was found.
    package var scanBound = 1_024
    /// The bound that counting ends with.
    package var lastBound = 262_144
    /// From this count on, another index is asked to shorten the list.
    package var intersectionCountMin = 256

    /// A condition on related records is answered beforehand if that reads fewer entries or rows.
    package var relatedBound = 4_096

    package init() {}
}
